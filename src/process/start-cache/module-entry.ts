import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { CacheFolder } from './cache-folder.ts';

/** A module of an author, prepared; `code` is undefined where it has to be loaded as any other module is. */
export interface PreparedModule {
  readonly code: string | undefined;
  /** Files that it was made of, with the SHA-256 of their content. */
  readonly inputs: Readonly<Record<string, string>>;
  /** Paths where nothing was: a file there would make it another module. */
  readonly absent: readonly string[];
}

/** Says what an entry was made of. It is a comment of the last line: the places of the code stay those of its map. */
interface Origin {
  readonly inputs: PreparedModule['inputs'];
  readonly absent: PreparedModule['absent'];
  /** SHA-256 of the code; null where there is none. */
  readonly code: string | null;
}

const ORIGIN_MARK = '\n//';

/**
 * Reads an entry of the cache: `ready` where its file can be imported, `plain` where the module has to be loaded as any
 * other. Undefined for an entry that is not there, is damaged, or was made of other files than there are now.
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

/** @returns false where it could not be written. */
export function writeEntry(cache: CacheFolder, name: string, { code, inputs, absent }: PreparedModule): boolean {
  const origin: Origin = { inputs, absent, code: code === undefined ? null : sha256(code) };
  return cache.write(name, `${code ?? ''}${ORIGIN_MARK}${JSON.stringify(origin)}`);
}

export function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
