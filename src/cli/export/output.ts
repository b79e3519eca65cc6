import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipWriter } from '../../formats/zip-writer.ts';
import { UsageError } from '../failure.ts';

/** Texts a file is written in at once: a call for each line would cost more than the line. */
const CHUNK = 64 * 1024;

/** Writes a file under another name first, so that whoever finds it finds it whole. Without a path: to standard output. */
export async function writeText(
  path: string | undefined,
  texts: AsyncIterable<string>,
  signal: AbortSignal,
): Promise<void> {
  if (path === undefined) return await pipeline(Readable.from(inChunks(texts)), process.stdout, { signal, end: false });
  await underOtherName(path, async (other) => {
    await pipeline(Readable.from(inChunks(texts)), createWriteStream(other, { flags: 'wx' }), { signal });
  });
}

/** The same for a zip. */
export async function writeZip(
  path: string,
  fill: (zip: ZipWriter) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  await underOtherName(path, async (other) => {
    const zip = new ZipWriter();
    const written = pipeline(zip.output, createWriteStream(other, { flags: 'wx' }), { signal });
    const filled = fill(zip).catch((error: unknown) => {
      zip.output.destroy(error instanceof Error ? error : new Error(String(error)));
    });
    await Promise.all([written, filled]);
  });
}

/** The same for a folder with a file of lines and one of JSON. @throws UsageError where the folder is there. */
export async function writeFolder(
  path: string,
  files: { readonly lines: AsyncIterable<string>; readonly toMetadata: () => object },
  signal: AbortSignal,
): Promise<void> {
  if ((await stat(path).catch(() => undefined)) !== undefined) {
    throw new UsageError(`${path} is there already: name a folder that is new.`);
  }
  await underOtherName(path, async (other) => {
    await mkdir(other);
    const results = createWriteStream(join(other, 'results.jsonl'), { flags: 'wx' });
    await pipeline(Readable.from(inChunks(files.lines)), results, { signal });
    await writeFile(join(other, 'metadata.json'), `${JSON.stringify(files.toMetadata(), null, 2)}\n`);
  });
}

async function underOtherName(path: string, write: (other: string) => Promise<void>): Promise<void> {
  const other = `${path}.${process.pid}.part`;
  await mkdir(dirname(path), { recursive: true });
  try {
    await write(other);
    await rename(other, path);
  } catch (error) {
    await rm(other, { recursive: true, force: true });
    throw error;
  }
}

async function* inChunks(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let parts: string[] = [];
  let length = 0;
  for await (const text of texts) {
    parts.push(text);
    length += text.length;
    if (length < CHUNK) continue;
    yield parts.join('');
    parts = [];
    length = 0;
  }
  if (length > 0) yield parts.join('');
}
