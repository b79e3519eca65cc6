import { OutputWindow } from '../sandbox/output-window.ts';

/** A command's end cannot have more bytes after the sentinel than its exit code and a line break. */
const MAX_CODE_BYTES = 8;

/**
 * Reads the output of a shell until a line that only the shell writes: the sentinel and the exit code. Memory is bounded
 * however much comes, and the sentinel is found wherever chunks cut it.
 */
export class SentinelReader {
  readonly #marker: Buffer;
  readonly #window: OutputWindow;
  #rest: Buffer = Buffer.alloc(0);
  #exitCode: number | undefined;

  constructor(sentinel: string, shownBytes: number) {
    this.#marker = Buffer.from(`\n${sentinel} `);
    this.#window = new OutputWindow(Math.ceil(shownBytes / 2), Math.floor(shownBytes / 2));
  }

  /** Set once the sentinel has come. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  get omittedBytes(): number {
    return this.#window.omitted;
  }

  /** Takes a chunk. True once the sentinel has come; chunks after it are not read. */
  write(chunk: Buffer): boolean {
    if (this.#exitCode !== undefined) return true;
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const at = bytes.indexOf(this.#marker);
    if (at === -1) {
      const kept = Math.min(bytes.length, this.#marker.length - 1);
      this.#window.write(bytes.subarray(0, bytes.length - kept));
      this.#rest = Buffer.from(bytes.subarray(bytes.length - kept));
      return false;
    }
    const code = bytes.subarray(at + this.#marker.length, at + this.#marker.length + MAX_CODE_BYTES).toString('latin1');
    const end = /^(\d{1,3})\n/.exec(code);
    if (end === null) {
      this.#rest = Buffer.from(bytes);
      return false;
    }
    this.#window.write(bytes.subarray(0, at));
    this.#rest = Buffer.alloc(0);
    this.#exitCode = Number(end[1]);
    return true;
  }

  /** The output so far. */
  text(): string {
    if (this.#rest.length > 0) this.#window.write(this.#rest);
    this.#rest = Buffer.alloc(0);
    return this.#window.text();
  }
}
