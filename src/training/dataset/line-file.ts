import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';

/** Characters that are written at once. */
const BUFFERED = 1_024 * 1_024;

/** A file that is written line by line, with the hash of what is in it. */
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

  /** A line without its end. */
  async write(line: string): Promise<void> {
    this.#lines += 1;
    this.#waiting.push(line, '\n');
    this.#length += line.length + 1;
    if (this.#length >= BUFFERED) await this.#flush();
  }

  /** Durable when it resolves. @returns the SHA-256 of the file, hex. */
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
