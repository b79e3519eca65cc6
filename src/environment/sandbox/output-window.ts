/**
 * Keeps the beginning and the end of an output of any length. Memory stays within the two sizes and one chunk, however
 * much is written.
 */
export class OutputWindow {
  readonly #headBytes: number;
  readonly #tailBytes: number;
  readonly #head: Buffer[] = [];
  readonly #tail: Buffer[] = [];
  #inHead = 0;
  #inTail = 0;
  #total = 0;

  constructor(headBytes: number, tailBytes: number) {
    this.#headBytes = headBytes;
    this.#tailBytes = tailBytes;
  }

  /** Bytes that were left out between the beginning and the end. */
  get omitted(): number {
    return this.#total - this.#inHead - this.#inTail;
  }

  write(chunk: Buffer): void {
    this.#total += chunk.length;
    const forHead = chunk.subarray(0, this.#headBytes - this.#inHead);
    if (forHead.length > 0) this.#head.push(forHead);
    this.#inHead += forHead.length;
    if (forHead.length < chunk.length) this.#writeTail(chunk.subarray(forHead.length));
  }

  /** The text that is kept, with a line between its halves that tells how much is missing. No character is cut in two. */
  text(): string {
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    if (this.omitted === 0) return Buffer.concat([head, tail]).toString('utf8');
    const first = head.subarray(0, endOfWholeCharacters(head));
    const last = tail.subarray(startOfWholeCharacters(tail));
    const cut = this.#total - first.length - last.length;
    return `${first.toString('utf8')}\n[… ${cut} bytes omitted …]\n${last.toString('utf8')}`;
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

/** The longest character of UTF-8 has four bytes, so a cut one has at most three. */
const MAX_CUT_BYTES = 3;

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function startOfWholeCharacters(bytes: Buffer): number {
  let start = 0;
  while (start < MAX_CUT_BYTES && isContinuation(bytes[start])) start += 1;
  return start;
}

function endOfWholeCharacters(bytes: Buffer): number {
  let lead = bytes.length - 1;
  while (lead >= 0 && bytes.length - lead <= MAX_CUT_BYTES && isContinuation(bytes[lead])) lead -= 1;
  const byte = bytes[lead] ?? 0;
  const wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
  return wanted > bytes.length - lead ? lead : bytes.length;
}
