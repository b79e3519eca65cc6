import { Readable } from 'node:stream';

/** An output of a program. It asks for more when its reader has taken what it has. */
export class OutputStream extends Readable {
  readonly #onWanted: () => void;
  #onDrained: (() => void) | undefined;
  #isFull = false;

  constructor(onWanted: () => void) {
    super();
    this.#onWanted = onWanted;
  }

  /** True while the reader is behind. */
  get isFull(): boolean {
    return this.#isFull && !this.destroyed;
  }

  add(bytes: Buffer): void {
    if (!this.destroyed && !this.readableEnded) this.#isFull = !this.push(bytes);
  }

  end(): void {
    if (!this.destroyed) this.push(null);
  }

  /** Resolves when the reader has been given all that was added. A stream without a reader counts as read. */
  async drained(): Promise<void> {
    if (this.readableFlowing === null || this.readableLength === 0 || this.destroyed) return;
    await new Promise<void>((resolve) => {
      this.#onDrained = resolve;
      this.once('end', resolve);
    });
  }

  override _read(): void {
    this.#isFull = false;
    this.#onWanted();
    if (this.readableLength === 0) this.#onDrained?.();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    callback(error);
    this.#onWanted();
    this.#onDrained?.();
  }
}
