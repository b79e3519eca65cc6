const LINE_END = 0x0a;

/** Splits bytes into lines. It buffers at most one line of the maximum length. */
export class ByteLines {
  readonly #maxBytes: number;
  readonly #onLine: (number: number, line: Uint8Array | undefined) => void;
  #number = 0;
  #parts: Uint8Array[] = [];
  #length = 0;

  /**
   * @param maxBytes largest length of a line, without its line end.
   * @param onLine gets undefined for a line that is too long. Lines count from 1. The bytes are valid until it returns.
   */
  constructor(maxBytes: number, onLine: (number: number, line: Uint8Array | undefined) => void) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
  }

  push(chunk: Uint8Array): void {
    let start = 0;
    for (let end = chunk.indexOf(LINE_END); end !== -1; end = chunk.indexOf(LINE_END, start)) {
      this.#take(chunk.subarray(start, end));
      this.end();
      start = end + 1;
    }
    this.#take(chunk.subarray(start));
  }

  /** Emits the last line, which is empty when the file ends with a line end. */
  end(): void {
    this.#number += 1;
    const [only = new Uint8Array()] = this.#parts;
    const line = this.#parts.length > 1 ? Buffer.concat(this.#parts) : only;
    const isTooLong = this.#length > this.#maxBytes;
    this.#parts = [];
    this.#length = 0;
    this.#onLine(this.#number, isTooLong ? undefined : line);
  }

  #take(part: Uint8Array): void {
    this.#length += part.length;
    if (this.#length > this.#maxBytes) this.#parts = [];
    else if (part.length > 0) this.#parts.push(part);
  }
}
