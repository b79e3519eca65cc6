import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { CacheFolder } from './cache-folder.ts';

/** An author's module after bundling. `code` is undefined if the module has to be loaded file by file. */
export interface PreparedModule {
  readonly code: string | undefined;
  /** Files that it was made from, with the SHA-256 of their content. */
  readonly inputs: Readonly<Record<string, string>>;
  /** Paths that did not exist. A file there would change the module. */
  readonly absent: readonly string[];
}

/** The sources of a cache entry, stored as a comment in its last line so that the source map stays valid. */
interface Origin {
  readonly inputs: PreparedModule['inputs'];
  readonly absent: PreparedModule['absent'];
  /** SHA-256 of the code. Null if the module has to be loaded file by file. */
  readonly code: string | null;
}

const ORIGIN_MARK = '\n//';

/**
 * Reads a cache entry. `ready` means that its file can be imported, `plain` that the module has to be loaded file by
 * file. Undefined if the entry is missing, damaged or outdated.
 */
export function readEntry(cache: CacheFolder, name: string): 'ready' | 'plain' | undefined {
  const text = cache.read(name)?.toString('utf8');
  if (text === undefined) return undefined;
  try {
    const end = text.lastIndexOf(ORIGIN_MARK);
    const { inputs, absent, code } = JSON.parse(text.slice(end + ORIGIN_MARK.length)) as Origin;
    if (code !== null && sha256(text.slice(0, end)) !== code) return undefined;
    const isCurrent = Object.entries(inputs).every(([path, hash]) => sha256(readFileSync(path)) === hash);
    if (!isCurrent || absent.some((path) => existsSync(path))) return undefined;
    return code === null ? 'plain' : 'ready';
  } catch {
    return undefined;
  }
}

/** @returns false if it could not be written. */
export function writeEntry(cache: CacheFolder, name: string, { code, inputs, absent }: PreparedModule): boolean {
  const origin: Origin = { inputs, absent, code: code === undefined ? null : sha256(code) };
  return cache.write(name, `${code ?? ''}${ORIGIN_MARK}${JSON.stringify(origin)}`);
}

export function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
