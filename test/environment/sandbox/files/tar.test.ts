import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { readTar, type TarInput, writeTar } from '../../../../src/environment/sandbox/files/tar.ts';

const LONG = `${'folder/'.repeat(30)}${'n'.repeat(150)}`;
const ENTRIES: readonly TarInput[] = [
  { name: 'plain', type: 'file', mode: 0o640, uid: 1, gid: 2, content: Buffer.from('text') },
  { name: 'empty', type: 'file', mode: 0o600, uid: 0, gid: 0 },
  { name: 'Größe €😀\nzwei', type: 'file', mode: 0o4755, uid: 1000, gid: 1000, content: Buffer.alloc(513, 'x') },
  { name: 'folder', type: 'folder', mode: 0o1777, uid: 0, gid: 0 },
  { name: 'ünter', type: 'folder', mode: 0o755, uid: 0, gid: 0 },
  { name: LONG, type: 'file', mode: 0o644, uid: 4_000_000_000, gid: 0, content: Buffer.from('deep') },
  { name: 'link', type: 'link', mode: 0o777, uid: 0, gid: 0, target: `/${LONG}` },
];

async function written(entries: Iterable<TarInput>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of writeTar(entries)) parts.push(part);
  return Buffer.concat(parts);
}

async function readBack(chunks: Iterable<Uint8Array>) {
  const found: Record<string, unknown>[] = [];
  for await (const { content, ...header } of readTar(chunks)) {
    const parts: Buffer[] = [];
    for await (const part of content) parts.push(part);
    found.push({ ...header, text: Buffer.concat(parts).toString() });
  }
  return found;
}

function cut(bytes: Buffer, size: number): Buffer[] {
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}

describe('an archive', () => {
  it.each([1, 7, 512, 100_000])('is read as it was written, in chunks of %i bytes', async (size) => {
    const found = await readBack(cut(await written(ENTRIES), size));
    const expected = ENTRIES.map(({ name, type, mode, uid, gid, content, target }) => {
      const text = Buffer.from(content ?? '').toString();
      return { name, type, mode, uid, gid, size: text.length, target: target ?? '', text };
    });
    expect(found).toEqual(expected);
  });

  it('is read by the tar of this machine', async () => {
    const list = execFileSync('tar', ['-tf', '-'], { input: await written(ENTRIES), encoding: 'utf8' });
    expect(list.split('\n')).toEqual(expect.arrayContaining(['plain', 'folder/', LONG, 'link']));
  });

  it('passes over content that nobody has read', async () => {
    const names: string[] = [];
    for await (const { name } of readTar([await written(ENTRIES)])) names.push(name);
    expect(names).toEqual(ENTRIES.map(({ name }) => name));
  });

  it('ends its source when the reader stops', async () => {
    let isOver = false;
    async function* source() {
      try {
        yield* cut(await written(ENTRIES), 512);
      } finally {
        isOver = true;
      }
    }
    for await (const _ of readTar(source())) break;
    expect(isOver).toBe(true);
  });

  it('that is cut off or is none is refused', async () => {
    const bytes = await written(ENTRIES);
    await expect(readBack([bytes.subarray(0, 700)])).rejects.toThrow(RangeError);
    await expect(readBack([Buffer.alloc(1_024, 'no archive')])).rejects.toThrow('checksum');
  });
});
