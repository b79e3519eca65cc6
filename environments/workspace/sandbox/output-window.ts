/**
 * Keeps the beginning and the end of an output of any length. Memory stays within the two sizes and one chunk, however
 * much is written.
 */
export class OutputWindow {
  readonly #headBytes: number;
  readonly #tailBytes: number;
  #head: Buffer[] = [];
  #tail: Buffer[] = [];
  #inHead = 0;
  #inTail = 0;
  #total = 0;

  constructor(headBytes: number, tailBytes: number) {
    this.#headBytes = headBytes;
    this.#tailBytes = tailBytes;
  }

  /** Bytes that were written in all. */
  get total(): number {
    return this.#total;
  }

  write(chunk: Buffer): void {
    this.#total += chunk.length;
    const forHead = chunk.subarray(0, this.#headBytes - this.#inHead);
    if (forHead.length > 0) this.#head.push(forHead);
    this.#inHead += forHead.length;
    if (forHead.length < chunk.length) this.#writeTail(chunk.subarray(forHead.length));
  }

  /** What is kept, with a note between its halves that says how much is not. */
  text(): string {
    const cut = this.#total - this.#inHead - this.#inTail;
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    if (cut === 0) return Buffer.concat([head, tail]).toString('utf8');
    return `${head.toString('utf8')}\n[... ${cut} bytes cut here ...]\n${tail.toString('utf8')}`;
  }

  #writeTail(chunk: Buffer): void {
    this.#tail.push(chunk);
    this.#inTail += chunk.length;
    while (this.#inTail > this.#tailBytes) {
      const [first] = this.#tail;
      if (first === undefined) return;
      const excess = this.#inTail - this.#tailBytes;
      if (first.length <= excess) this.#tail.shift();
      else this.#tail[0] = first.subarray(excess);
      this.#inTail -= Math.min(first.length, excess);
    }
  }
}
