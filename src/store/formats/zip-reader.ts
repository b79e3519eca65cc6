import { type Duplex, pipeline, type Readable } from 'node:stream';
import * as zlib from 'node:zlib';
import { decompress } from 'fzstd';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { messageOf } from '../../contract/errors.ts';
import { type ImportLimits, tooLarge } from './import-limits.ts';
import { FormatError } from './imported-trace.ts';

/** Supported compression methods: none, deflate and Zstandard. */
const STORED = 0;
const DEFLATE = 8;
const ZSTD = 93;

/**
 * Reads members of an untrusted zip. It counts the bytes while unpacking and does not trust the sizes in the zip.
 * Disposing closes the file.
 */
export class ZipReader implements Disposable {
  readonly #zip: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #limits: ImportLimits;
  #unpacked = 0;

  /** @throws FormatError for an invalid zip, or one with too many members. */
  static async open(path: string, limits: ImportLimits): Promise<ZipReader> {
    const zip = await openPromise(path, { lazyEntries: true, autoClose: false }).catch((error: unknown) => {
      throw new FormatError(`It is no zip: ${messageOf(error)}.`, { cause: error });
    });
    try {
      const entries = new Map<string, Entry>();
      for await (const entry of zip.eachEntry()) {
        entries.set(entry.fileName, entry);
        if (entries.size > limits.members) throw new FormatError(`The zip has more than ${limits.members} members.`);
      }
      return new ZipReader(zip, entries, limits);
    } catch (error) {
      zip.close();
      if (error instanceof FormatError) throw error;
      throw new FormatError(`The zip cannot be read: ${messageOf(error)}.`, { cause: error });
    }
  }

  private constructor(zip: ZipFile, entries: ReadonlyMap<string, Entry>, limits: ImportLimits) {
    this.#zip = zip;
    this.#entries = entries;
    this.#limits = limits;
  }

  get names(): readonly string[] {
    return [...this.#entries.keys()];
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /** The text of a member. @throws FormatError for a missing, too large or broken member. */
  async read(name: string): Promise<string> {
    const entry = this.#entries.get(name);
    if (entry === undefined) throw new FormatError(`The zip has no member ${name.slice(0, 200)}.`);
    const label = `Member ${name.slice(0, 200)}`;
    const { memberBytes } = this.#limits;
    if (entry.uncompressedSize > memberBytes) throw tooLarge(label, memberBytes);
    try {
      const bytes = await this.#unpack(entry, label);
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch (error) {
      if (error instanceof FormatError) throw error;
      throw new FormatError(`${label} cannot be read: ${messageOf(error)}.`, { cause: error });
    }
  }

  async #unpack(entry: Entry, label: string): Promise<Uint8Array> {
    const { compressionMethod: method } = entry;
    if (entry.isEncrypted()) throw new FormatError(`${label} is encrypted.`);
    if (method === STORED || method === DEFLATE) {
      return await this.#collect(await this.#zip.openReadStreamPromise(entry), label);
    }
    if (method !== ZSTD) {
      throw new FormatError(`${label} is packed by method ${method}; 0 (stored), 8 (deflate) and 93 (zstd) are read.`);
    }
    const raw = await this.#zip.openReadStreamPromise(entry, { decodeFileData: false });
    const unzstd = nodeZstd();
    // An error of either stream ends both, and the second one reports it.
    if (unzstd !== undefined)
      return await this.#collect(
        pipeline(raw, unzstd, () => {}),
        label,
      );
    // The output has the size that the zip declares, which is within the limit. More data is an error of the decoder.
    const packed = await this.#collect(raw, label, 0);
    this.#count(entry.uncompressedSize, label);
    const unpacked = decompress(packed, new Uint8Array(entry.uncompressedSize));
    if (unpacked.length === entry.uncompressedSize) return unpacked;
    throw new FormatError(`${label} has ${unpacked.length} bytes, and the zip says ${entry.uncompressedSize}.`);
  }

  /** @param weight 0 for packed bytes, which do not count toward the limit. */
  async #collect(stream: Readable, label: string, weight = 1): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    try {
      for await (const chunk of stream) {
        const bytes = chunk as Uint8Array; // The stream has no encoding, so its chunks are bytes.
        size += bytes.length;
        if (size > this.#limits.memberBytes) throw tooLarge(label, this.#limits.memberBytes);
        this.#count(bytes.length * weight, label);
        chunks.push(bytes);
      }
    } finally {
      stream.destroy();
    }
    return Buffer.concat(chunks, size);
  }

  #count(bytes: number, label: string): void {
    this.#unpacked += bytes;
    if (this.#unpacked > this.#limits.unpackedBytes) {
      throw tooLarge(`The whole of the zip, unpacked as far as ${label.toLowerCase()},`, this.#limits.unpackedBytes);
    }
  }

  [Symbol.dispose](): void {
    this.#zip.close();
  }
}

/** Zstandard of Node.js 22.15 and later. The types of this project are those of Node.js 20. */
function nodeZstd(): Duplex | undefined {
  const { createZstdDecompress } = zlib as { createZstdDecompress?: () => Duplex };
  return createZstdDecompress?.();
}
