import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipWriter } from '../../store/formats/zip-writer.ts';
import { UsageError } from './failure.ts';

/** Characters of one write, since a write for each line would be slow. */
const CHUNK = 64 * 1024;

/**
 * Writes a file under a temporary name and renames it, so that no reader sees a part of it. Without a path it writes
 * to standard output.
 */
export async function writeText(
  path: string | undefined,
  texts: AsyncIterable<string>,
  signal: AbortSignal,
): Promise<void> {
  if (path === undefined) return await toStandardOutput(texts, signal);
  await underOtherName(await toFilePath(path), async (other) => {
    await pipeline(Readable.from(inChunks(texts)), createWriteStream(other, { flags: 'wx' }), { signal });
  });
}

/** Writes a zip in the same way. */
export async function writeZip(
  path: string,
  fill: (zip: ZipWriter) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  await underOtherName(await toFilePath(path), async (other) => {
    const zip = new ZipWriter();
    const written = pipeline(zip.output, createWriteStream(other, { flags: 'wx' }), { signal });
    const filled = fill(zip).catch((error: unknown) => {
      zip.output.destroy(error instanceof Error ? error : new Error(String(error)));
    });
    await Promise.all([written, filled]);
  });
}

/** Writes a folder with a JSON Lines file and a JSON file in the same way. @throws UsageError if the folder exists. */
export async function writeFolder(
  path: string,
  files: { readonly lines: AsyncIterable<string>; readonly toMetadata: () => object },
  signal: AbortSignal,
): Promise<void> {
  await refuseFolder(path);
  await underOtherName(path, async (other) => {
    await mkdir(other);
    const results = createWriteStream(join(other, 'results.jsonl'), { flags: 'wx' });
    await pipeline(Readable.from(inChunks(files.lines)), results, { signal });
    await writeFile(join(other, 'metadata.json'), `${JSON.stringify(files.toMetadata(), null, 2)}\n`);
  });
}

/** @throws UsageError if the path exists. */
export async function refuseFolder(path: string): Promise<void> {
  if ((await stat(path).catch(() => undefined)) === undefined) return;
  throw new UsageError(`${path} is there already: name a folder that is new.`);
}

/** Writes to standard output. A closed pipe (`| head`) is no error. */
async function toStandardOutput(texts: AsyncIterable<string>, signal: AbortSignal): Promise<void> {
  try {
    await pipeline(Readable.from(inChunks(texts)), process.stdout, { signal, end: false });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error;
  }
}

/**
 * Resolves symbolic links, since renaming would replace the link and not its target.
 *
 * @throws UsageError for a folder, and for a device or pipe, which renaming would remove.
 */
async function toFilePath(path: string): Promise<string> {
  const there = await stat(path).catch(() => undefined);
  if (there?.isDirectory() || path.endsWith('/')) throw new UsageError(`${path} is a folder: name a file.`);
  if (there !== undefined && !there.isFile()) {
    throw new UsageError(`${path} is no ordinary file: name one, or leave --out away for standard output.`);
  }
  return there === undefined ? path : await realpath(path);
}

async function underOtherName(path: string, write: (other: string) => Promise<void>): Promise<void> {
  // A random name, since processes in containers with a shared folder may have the same id.
  const other = `${path}.${randomBytes(4).toString('hex')}.part`;
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
