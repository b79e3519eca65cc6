/** Bytes before each frame: the number of the stream, three of no meaning, the length of the payload. */
const HEADER_BYTES = 8;

export type FrameStream = 'stdout' | 'stderr';

/**
 * Takes the two outputs of a program apart. A frame is no line and no message, and chunks are cut anywhere. Payloads are
 * passed on as they come, so that nothing is copied and nothing but an incomplete header is kept.
 */
export class FrameSplitter {
  readonly #onPayload: (stream: FrameStream, bytes: Buffer) => void;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #inHeader = 0;
  #missing = 0;
  #stream: FrameStream = 'stdout';

  constructor(onPayload: (stream: FrameStream, bytes: Buffer) => void) {
    this.#onPayload = onPayload;
  }

  /** @throws RangeError for bytes that are no frame. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#missing > 0) {
        const payload = chunk.subarray(at, at + this.#missing);
        at += payload.length;
        this.#missing -= payload.length;
        this.#onPayload(this.#stream, payload);
        continue;
      }
      const copied = chunk.copy(this.#header, this.#inHeader, at, at + HEADER_BYTES - this.#inHeader);
      at += copied;
      this.#inHeader += copied;
      if (this.#inHeader === HEADER_BYTES) this.#beginFrame();
    }
  }

  #beginFrame(): void {
    const number = this.#header.readUInt8(0);
    if (number > 2) throw new RangeError(`A frame has the stream ${number}; there are 1 and 2`);
    this.#stream = number === 2 ? 'stderr' : 'stdout';
    this.#missing = this.#header.readUInt32BE(4);
    this.#inHeader = 0;
  }
}
