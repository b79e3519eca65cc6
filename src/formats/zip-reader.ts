import { type Duplex, pipeline, type Readable } from 'node:stream';
import * as zlib from 'node:zlib';
import { decompress } from 'fzstd';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { messageOf } from '../contract/errors.ts';
import { type ImportLimits, tooLarge } from './import-limits.ts';
import { FormatError } from './imported-trace.ts';

/** Compression methods of a zip that are read: as it is, deflate, and Zstandard. */
const STORED = 0;
const DEFLATE = 8;
const ZSTD = 93;

/**
 * Reads members of a zip that anybody may have made. Bytes are counted as they are unpacked, whatever the zip says of their
 * number. It is closed by disposing of it.
 */
export class ZipReader implements Disposable {
  readonly #zip: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #limits: ImportLimits;
  #unpacked = 0;

  /** @throws FormatError for what is no zip, and for one with too many members. */
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

  /** The text of a member. @throws FormatError where there is none, where it is too large, or where it is broken. */
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
    // An error of either ends both, and is told by the second.
    if (unzstd !== undefined)
      return await this.#collect(
        pipeline(raw, unzstd, () => {}),
        label,
      );
    // The room is what the zip says, which is within the limit: more than that is an error of the decoder.
    const packed = await this.#collect(raw, label, 0);
    this.#count(entry.uncompressedSize, label);
    const unpacked = decompress(packed, new Uint8Array(entry.uncompressedSize));
    if (unpacked.length === entry.uncompressedSize) return unpacked;
    throw new FormatError(`${label} has ${unpacked.length} bytes, and the zip says ${entry.uncompressedSize}.`);
  }

  /** @param weight of a byte: 0 for those that are still packed. */
  async #collect(stream: Readable, label: string, weight = 1): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    try {
      for await (const chunk of stream) {
        const bytes = chunk as Uint8Array; // A stream of bytes, without an encoding.
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

/** Node.js has Zstandard from 22.15 on; the types that this project builds with are of 20. */
function nodeZstd(): Duplex | undefined {
  const { createZstdDecompress } = zlib as { createZstdDecompress?: () => Duplex };
  return createZstdDecompress?.();
}
