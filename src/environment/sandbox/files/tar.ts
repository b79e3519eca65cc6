/** Reads and writes tar archives: ustar with the extensions of pax, and long names of GNU where they are read. */

const BLOCK = 512;
/** Bytes of one extended header. A name is much shorter. */
const MAX_EXTENSION_BYTES = 1024 * 1024;
const TYPES: Readonly<Record<string, TarType>> = {
  '': 'file',
  '0': 'file',
  '7': 'file',
  '1': 'hardlink',
  '2': 'link',
  '5': 'folder',
};
const FLAGS: Readonly<Record<string, string>> = { file: '0', link: '2', folder: '5' };

export type TarType = 'file' | 'hardlink' | 'link' | 'folder' | 'other';

export interface TarHeader {
  /** The path as it is written in the archive, without the slash of a folder. */
  readonly name: string;
  readonly type: TarType;
  readonly size: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Where a link leads; the entry that a hard link names. */
  readonly target: string;
}

export interface TarEntry extends TarHeader {
  /** The content, chunk by chunk. The next entry skips what was not read. */
  readonly content: AsyncIterable<Buffer>;
}

export interface TarInput {
  readonly name: string;
  readonly type: 'file' | 'link' | 'folder';
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly content?: Uint8Array | undefined;
  readonly target?: string | undefined;
}

/** Writes an archive. */
export async function* writeTar(
  entries: AsyncIterable<TarInput> | Iterable<TarInput>,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const entry of entries) {
    const content = entry.type === 'file' ? (entry.content ?? new Uint8Array()) : new Uint8Array();
    const target = entry.target ?? '';
    const records: Record<string, string> = {};
    if (!fits(entry.name, 99)) records.path = entry.name;
    if (!fits(target, 100)) records.linkpath = target;
    if (content.length > 0o77777777777) records.size = String(content.length);
    if (entry.uid > 0o7777777) records.uid = String(entry.uid);
    if (entry.gid > 0o7777777) records.gid = String(entry.gid);
    if (Object.keys(records).length > 0) {
      const extension = Buffer.concat(Object.entries(records).map(([key, value]) => paxRecord(key, value)));
      yield toHeader({ name: 'pax', mode: 0o644, uid: 0, gid: 0 }, 'x', extension.length, '');
      yield padded(extension);
    }
    yield toHeader(entry, FLAGS[entry.type] ?? '0', content.length, target);
    if (content.length === 0) continue;
    yield content;
    const rest = content.length % BLOCK;
    if (rest > 0) yield Buffer.alloc(BLOCK - rest);
  }
  yield Buffer.alloc(2 * BLOCK);
}

/**
 * Reads an archive, one entry at a time. It holds one chunk, whatever the sizes of the files.
 *
 * @throws RangeError for bytes that are no archive, or one that is cut off.
 */
export async function* readTar(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<TarEntry, void, undefined> {
  const source = new ByteSource(chunks);
  let extension: Readonly<Record<string, string>> = {};
  try {
    for (;;) {
      const block = await source.exactly(BLOCK);
      if (block === undefined || block.every((byte) => byte === 0)) return;
      const header = parseHeader(block);
      const flag = String.fromCharCode(block[156] ?? 0).replace('\0', '');
      if (flag === 'x' || flag === 'g' || flag === 'L' || flag === 'K') {
        if (header.size > MAX_EXTENSION_BYTES) throw new RangeError('An extended header of the archive is too long');
        const bytes = await source.exactly(header.size);
        await source.skip(padding(header.size));
        if (bytes === undefined) throw new RangeError('The archive is cut off');
        if (flag === 'x') extension = { ...extension, ...parsePax(bytes) };
        else if (flag !== 'g') extension = { ...extension, [flag === 'L' ? 'path' : 'linkpath']: text(bytes) };
        continue;
      }
      const entry = extended(header, extension);
      extension = {};
      const body = source.part(entry.type === 'file' ? entry.size : 0);
      const skipped = entry.type === 'file' ? 0 : entry.size;
      yield { ...entry, size: entry.type === 'file' ? entry.size : 0, content: body.chunks };
      await body.finish();
      await source.skip(skipped + padding(entry.size));
    }
  } finally {
    await source.close();
  }
}

/** Takes pieces of a chosen length from a stream of chunks. */
class ByteSource {
  readonly #chunks: AsyncIterator<Uint8Array> | Iterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) {
    this.#chunks = Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
  }

  /** At most `length` bytes; undefined at the end. */
  async some(length: number): Promise<Buffer | undefined> {
    while (this.#rest.length === 0) {
      const { value, done } = await this.#chunks.next();
      if (done === true) return undefined;
      this.#rest = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    const piece = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(piece.length);
    return piece;
  }

  /** Undefined at the end of the stream. @throws RangeError if it ends in between. */
  async exactly(length: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = [];
    let missing = length;
    while (missing > 0) {
      const piece = await this.some(missing);
      if (piece === undefined && parts.length === 0) return undefined;
      if (piece === undefined) throw new RangeError('The archive is cut off');
      parts.push(piece);
      missing -= piece.length;
    }
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }

  async skip(length: number): Promise<void> {
    await this.part(length).finish();
  }

  part(length: number): { readonly chunks: AsyncIterable<Buffer>; finish(): Promise<void> } {
    let missing = length;
    const next = async () => {
      if (missing === 0) return undefined;
      const piece = await this.some(missing);
      if (piece === undefined) throw new RangeError('The archive is cut off');
      missing -= piece.length;
      return piece;
    };
    return {
      chunks: (async function* () {
        for (let piece = await next(); piece !== undefined; piece = await next()) yield piece;
      })(),
      async finish() {
        while ((await next()) !== undefined);
      },
    };
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}

function parseHeader(block: Buffer): TarHeader {
  const sum = number(block, 148, 8);
  let actual = 8 * 0x20;
  for (const [at, byte] of block.entries()) if (at < 148 || at >= 156) actual += byte;
  if (sum !== actual) throw new RangeError('The archive has a header with a wrong checksum');
  const flag = String.fromCharCode(block[156] ?? 0).replace('\0', '');
  const prefix =
    block.toString('latin1', 257, 262) === 'ustar' && block[262] === 0 ? text(block.subarray(345, 500)) : '';
  const name = text(block.subarray(0, 100));
  return {
    name: trimmed(prefix === '' ? name : `${prefix}/${name}`),
    type: TYPES[flag] ?? 'other',
    size: number(block, 124, 12),
    mode: number(block, 100, 8) & 0o7777,
    uid: number(block, 108, 8),
    gid: number(block, 116, 8),
    target: text(block.subarray(157, 257)),
  };
}

function extended(header: TarHeader, { path, linkpath, size, uid, gid }: Readonly<Record<string, string>>): TarHeader {
  return {
    ...header,
    name: path === undefined ? header.name : trimmed(path),
    target: linkpath ?? header.target,
    size: size === undefined ? header.size : Number(size),
    uid: uid === undefined ? header.uid : Number(uid),
    gid: gid === undefined ? header.gid : Number(gid),
  };
}

/** Lines of `length key=value`, where the length counts the whole line in bytes. */
function parsePax(bytes: Buffer): Record<string, string> {
  const records: Record<string, string> = {};
  let at = 0;
  while (at < bytes.length) {
    const space = bytes.indexOf(0x20, at);
    const length = space === -1 ? Number.NaN : Number(bytes.toString('latin1', at, space));
    if (!(length > 0)) break;
    const record = bytes.toString('utf8', space + 1, at + length - 1);
    const equals = record.indexOf('=');
    if (equals > 0) records[record.slice(0, equals)] = record.slice(equals + 1);
    at += length;
  }
  return records;
}

function paxRecord(key: string, value: string): Buffer {
  const bytes = Buffer.byteLength(` ${key}=${value}\n`);
  let length = bytes + String(bytes).length;
  if (bytes + String(length).length !== length) length = bytes + String(length).length;
  return Buffer.from(`${length} ${key}=${value}\n`);
}

function toHeader(
  entry: { readonly name: string; readonly mode: number; readonly uid: number; readonly gid: number },
  flag: string,
  size: number,
  target: string,
): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(flag === '5' ? `${entry.name.slice(0, 99)}/` : entry.name, 0, 100, 'utf8');
  octal(block, entry.mode & 0o7777, 100, 8);
  octal(block, Math.min(entry.uid, 0o7777777), 108, 8);
  octal(block, Math.min(entry.gid, 0o7777777), 116, 8);
  octal(block, Math.min(size, 0o77777777777), 124, 12);
  octal(block, Math.floor(Date.now() / 1_000), 136, 12);
  block.write(flag, 156, 1, 'latin1');
  block.write(target, 157, 100, 'utf8');
  block.write('ustar\x0000', 257, 8, 'latin1');
  block.fill(0x20, 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 8, 'latin1');
  return block;
}

function octal(block: Buffer, value: number, at: number, length: number): void {
  block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, length, 'latin1');
}

/** A number in octal digits, or in base 256 where it is larger. */
function number(block: Buffer, at: number, length: number): number {
  const first = block[at] ?? 0;
  if ((first & 0x80) === 0) return Number.parseInt(text(block.subarray(at, at + length)).trim() || '0', 8);
  return block.subarray(at + 1, at + length).reduce((value, byte) => value * 256 + byte, first & 0x7f);
}

function fits(value: string, bytes: number): boolean {
  return Buffer.byteLength(value) <= bytes && /^[\x20-\x7e]*$/.test(value);
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(padding(bytes.length))]);
}

function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

function text(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString('utf8', 0, end === -1 ? bytes.length : end);
}

function trimmed(name: string): string {
  return name.length > 1 && name.endsWith('/') ? name.slice(0, -1) : name;
}
