import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';

/** Times of a zip; the same content gives the same bytes. */
const MODIFIED = new Date('1980-01-01T00:00:00Z');

/** Writes a zip member by member, with deflate. One member is held at a time. */
export class ZipWriter {
  readonly #zip = new ZipFile();

  /** The bytes as they come. Errors of the zip destroy it. */
  readonly output: Readable;

  constructor() {
    this.output = Readable.from(this.#zip.outputStream);
    this.#zip.on('error', (error: Error) => this.output.destroy(error));
  }

  /** Resolves when whoever reads the output has taken all of the member. */
  async add(name: string, text: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.output.once('error', reject);
      const written = () => {
        this.output.off('error', reject);
        resolve();
      };
      this.#zip.addReadStreamLazy(name, { mtime: MODIFIED, compress: true }, (give) => {
        give(null, Readable.from([Buffer.from(text)]).once('end', written));
      });
    });
  }

  async end(): Promise<void> {
    this.#zip.end();
  }
}
