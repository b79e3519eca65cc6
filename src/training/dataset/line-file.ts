import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';

/** Number of characters that are buffered before a write. */
const BUFFERED = 1_024 * 1_024;

/** A file that is written line by line and hashed at the same time. */
export class LineFile {
  readonly #file: FileHandle;
  readonly #hash = createHash('sha256');
  #waiting: string[] = [];
  #length = 0;
  #lines = 0;
  #bytes = 0;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** The caller closes it. */
  static async create(path: string): Promise<LineFile> {
    return new LineFile(await open(path, 'wx'));
  }

  get lines(): number {
    return this.#lines;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Writes a line, given without its line end. */
  async write(line: string): Promise<void> {
    this.#lines += 1;
    this.#waiting.push(line, '\n');
    this.#length += line.length + 1;
    if (this.#length >= BUFFERED) await this.#flush();
  }

  /** Resolves when the file is on the disk. @returns its SHA-256 in hex. */
  async end(): Promise<string> {
    await this.#flush();
    await this.#file.sync();
    return this.#hash.digest('hex');
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.from(this.#waiting.join(''), 'utf8');
    this.#waiting = [];
    this.#length = 0;
    this.#hash.update(bytes);
    this.#bytes += bytes.length;
    await this.#file.writeFile(bytes);
  }
}
