import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { promisify } from 'node:util';
import { crc32, deflateRaw } from 'node:zlib';

const deflate = promisify(deflateRaw);

const UINT16 = 0xffff;
const UINT32 = 0xffffffff;
/** 1 January 1980. The fixed date makes equal content give equal bytes. */
const DATE = 0x21;
const UTF8 = 0x0800;
const DEFLATE = 8;
/** Version of the zip standard that a reader needs for deflate and for zip64. */
const VERSION = { deflate: 20, zip64: 45 };

/**
 * Writes a deflate zip member by member. Each member's sizes come before its bytes, where viewers of logs read them.
 * Only one member is in memory, and one directory entry for each earlier one.
 */
export class ZipWriter {
  /** The bytes of the zip, as they are written. */
  readonly output = new PassThrough();
  readonly #directory: Buffer[] = [];
  #offset = 0;

  /** Resolves when the reader of the output can take more. A member must be smaller than 4 GiB. */
  async add(name: string, text: string): Promise<void> {
    const bytes = Buffer.from(text);
    const packed = await deflate(bytes);
    const path = Buffer.from(name);
    const fields = memberFields({ crc: crc32(bytes), packed: packed.length, size: bytes.length, name: path.length });
    const isFar = this.#offset >= UINT32;
    this.#directory.push(
      directoryEntry(fields, path, isFar ? UINT32 : this.#offset, isFar ? farOffset(this.#offset) : Buffer.alloc(0)),
    );
    await this.#write(Buffer.concat([Buffer.from('PK\x03\x04'), fields, path, packed]));
  }

  async end(): Promise<void> {
    const count = this.#directory.length;
    const start = this.#offset;
    for (const entry of this.#directory) await this.#write(entry);
    const size = this.#offset - start;
    if (count >= UINT16 || this.#offset >= UINT32) await this.#write(zip64End(count, size, start, this.#offset));
    const end = Buffer.alloc(22);
    end.write('PK\x05\x06', 'latin1');
    for (const at of [8, 10]) end.writeUInt16LE(Math.min(count, UINT16), at);
    end.writeUInt32LE(Math.min(size, UINT32), 12);
    end.writeUInt32LE(Math.min(start, UINT32), 16);
    await this.#write(end);
    this.output.end();
  }

  async #write(bytes: Buffer): Promise<void> {
    this.#offset += bytes.length;
    if (this.output.destroyed) throw this.output.errored ?? new Error('Nobody reads the zip any more');
    if (!this.output.write(bytes)) await once(this.output, 'drain');
  }
}

/** The 26 bytes that both headers of a member contain. */
function memberFields(member: { crc: number; packed: number; size: number; name: number }): Buffer {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(VERSION.deflate, 0);
  fields.writeUInt16LE(UTF8, 2);
  fields.writeUInt16LE(DEFLATE, 4);
  fields.writeUInt16LE(DATE, 8);
  fields.writeUInt32LE(member.crc, 10);
  fields.writeUInt32LE(member.packed, 14);
  fields.writeUInt32LE(member.size, 18);
  fields.writeUInt16LE(member.name, 22);
  return fields;
}

function directoryEntry(member: Buffer, name: Buffer, offset: number, extra: Buffer): Buffer {
  const fields = Buffer.from(member);
  fields.writeUInt16LE(extra.length, 24);
  const rest = Buffer.alloc(14);
  rest.writeUInt32LE(offset, 10);
  const made = Buffer.alloc(2);
  made.writeUInt16LE(VERSION.zip64, 0);
  return Buffer.concat([Buffer.from('PK\x01\x02'), made, fields, rest, name, extra]);
}

function farOffset(offset: number): Buffer {
  const extra = Buffer.alloc(12);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(8, 2);
  extra.writeBigUInt64LE(BigInt(offset), 4);
  return extra;
}

/** The zip64 record and locator, for a directory that is too large for the short record. */
function zip64End(count: number, size: number, start: number, at: number): Buffer {
  const end = Buffer.alloc(56 + 20);
  end.write('PK\x06\x06', 'latin1');
  end.writeBigUInt64LE(44n, 4);
  end.writeUInt16LE(VERSION.zip64, 12);
  end.writeUInt16LE(VERSION.zip64, 14);
  end.writeBigUInt64LE(BigInt(count), 24);
  end.writeBigUInt64LE(BigInt(count), 32);
  end.writeBigUInt64LE(BigInt(size), 40);
  end.writeBigUInt64LE(BigInt(start), 48);
  end.write('PK\x06\x07', 56, 'latin1');
  end.writeBigUInt64LE(BigInt(at), 64);
  end.writeUInt32LE(1, 72);
  return end;
}
