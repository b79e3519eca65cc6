/**
 * Splits a stream of bytes at a marker. Bytes are passed on as they come; only what may be the beginning of a marker is
 * held back, so that memory does not grow with the stream.
 */
export class MarkerSplitter {
  readonly #marker: Buffer;
  readonly #onBytes: (bytes: Buffer) => void;
  readonly #onMarker: () => void;
  #held: Buffer = Buffer.alloc(0);

  /** @param onMarker is called between the bytes before a marker and those after it. */
  constructor(marker: string, onBytes: (bytes: Buffer) => void, onMarker: () => void) {
    this.#marker = Buffer.from(marker);
    this.#onBytes = onBytes;
    this.#onMarker = onMarker;
  }

  write(chunk: Buffer): void {
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    for (let at = rest.indexOf(this.#marker); at !== -1; at = rest.indexOf(this.#marker)) {
      this.#pass(rest.subarray(0, at));
      this.#onMarker();
      rest = rest.subarray(at + this.#marker.length);
    }
    const kept = this.#lengthOfBeginning(rest);
    this.#pass(rest.subarray(0, rest.length - kept));
    this.#held = Buffer.from(rest.subarray(rest.length - kept));
  }

  /** Passes on what was held back: no more bytes will come. */
  end(): void {
    const rest = this.#held;
    this.#held = Buffer.alloc(0);
    this.#pass(rest);
  }

  #pass(bytes: Buffer): void {
    if (bytes.length > 0) this.#onBytes(bytes);
  }

  /** Length of the longest end of `bytes` with which a marker may begin. */
  #lengthOfBeginning(bytes: Buffer): number {
    const most = Math.min(bytes.length, this.#marker.length - 1);
    for (let length = most; length > 0; length -= 1) {
      if (bytes.subarray(bytes.length - length).equals(this.#marker.subarray(0, length))) return length;
    }
    return 0;
  }
}
