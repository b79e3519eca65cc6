import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Turns of the event loop without output after which a pipe is empty. Each turn asks the system about every pipe. */
const QUIET_TURNS = 3;

/**
 * The output of a program, which may be held open by children that it left. After the program's end `settle` tells when
 * all that it wrote has been read. If nobody reads any more, output is dropped, so that a child can go on writing.
 */
export class OutputStream extends Readable {
  readonly #source: Readable;
  #hasNews = false;
  #isDone = false;
  #onRead = () => {};

  constructor(source: Readable) {
    super();
    this.#source = source;
    source.on('data', (chunk: Buffer) => {
      this.#hasNews = true;
      if (!this.#isDone && !this.push(chunk)) source.pause();
    });
    source.on('error', () => this.#end());
    source.on('close', () => this.#end());
    source.on('end', () => this.#end());
  }

  /** Resolves when everything that was written until now has been given to the reader, or kept for one that may come. */
  async settle(): Promise<void> {
    let quiet = 0;
    while (quiet < QUIET_TURNS && !this.destroyed && !this.#isAtEnd) {
      this.#hasNews = false;
      const hasReader = this.readableFlowing !== null;
      if (this.readableLength > 0 && hasReader) await this.#untilRead();
      await nextTurn();
      quiet = this.#hasNews || (hasReader && this.#source.isPaused()) ? 0 : quiet + 1;
    }
  }

  override _read(): void {
    this.#source.resume();
    this.#onRead();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#isDone = true;
    this.#onRead();
    this.#source.resume();
    callback(error);
  }

  /** True if no process holds the output any more. */
  get hasEnded(): boolean {
    return this.#source.destroyed || this.#source.readableEnded;
  }

  get #isAtEnd(): boolean {
    return this.#isDone && this.readableLength === 0;
  }

  #end(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.push(null);
    this.#onRead();
  }

  async #untilRead(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#onRead = resolve;
    });
  }
}
