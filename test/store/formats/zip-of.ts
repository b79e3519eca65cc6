import { crc32 } from 'node:zlib';

interface Member {
  readonly text?: string;
  /** As it stands in the zip. */
  readonly raw?: Uint8Array;
  /** Default: stored. */
  readonly method?: number;
  /** Bytes that the zip says it has unpacked. Default: those that it has. */
  readonly size?: number;
}

/** A zip, byte by byte: one that lies about its members can be made by no library. */
export function zipOf(members: Readonly<Record<string, Member>>): Uint8Array {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const [name, { text = '', raw = Buffer.from(text), method = 0, size = raw.length }] of Object.entries(members)) {
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(crc32(raw), 10);
    common.writeUInt32LE(raw.length, 14);
    common.writeUInt32LE(size, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), raw]);
    const end = Buffer.alloc(14);
    end.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 0]), common, end, Buffer.from(name)]));
    parts.push(local);
    offset += local.length;
  }
  const size = directory.reduce((sum, each) => sum + each.length, 0);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(directory.length, 4);
  end.writeUInt16LE(directory.length, 6);
  end.writeUInt32LE(size, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, ...directory, Buffer.from('PK\x05\x06'), end]);
}
