import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch } from 'node:process';
import { pathToFileURL } from 'node:url';
import { Script } from 'node:vm';
import { builtFile } from '../../../support/runtime/built-file.ts';
import type { CacheFolder } from './cache-folder.ts';

/** Modules in our bundle that the environment's code imports too. It gets the same copies. */
export const SHARED_MODULES = ['proctor', 'zod'] as const;
export type SharedModule = (typeof SHARED_MODULES)[number];

/** Global key under which an environment's code finds the shared modules, because another loader runs it. */
export const SHARED_KEY = 'proctor.start';

/** Bytes of the digest before compiled code. V8 does not check the code, and damaged code would crash the process. */
const DIGEST_BYTES = 32;
/** Milliseconds from the start, so that the first answer is not delayed. By then most functions are compiled. */
const COMPILED_AFTER_MS = 250;

/** One file with everything that a process needs to serve an environment over stdio. */
export interface OwnBundle {
  /** An id that changes with the code. */
  readonly id: string;
  readonly names: Readonly<Record<SharedModule, readonly string[]>>;
  readonly source: string;
  readonly path: string;
}

export interface OwnCode {
  startOverStdio(path: string, prepared: string): Promise<void>;
  failStart(error: unknown): never;
}

type Exports = OwnCode & Readonly<Record<SharedModule, object>>;

/** @throws the file system's error if the package is not built. */
export function readOwnBundle(): OwnBundle {
  const path = builtFile('start/bundle.cjs');
  // The file contains only ASCII, and single-byte text is read fastest.
  const source = readFileSync(path, 'latin1');
  const header = JSON.parse(source.slice(2, source.indexOf('\n'))) as Pick<OwnBundle, 'id' | 'names'>;
  return { id: header.id, names: header.names, source, path };
}

/**
 * Runs the bundle with compiled code from the cache. Without it, the compiled code is written to the cache a little
 * later.
 */
export function runOwnBundle(bundle: OwnBundle, cache: CacheFolder): OwnCode {
  const { path, source } = bundle;
  const name = compiledName(bundle);
  const cachedData = readCompiled(cache, name);
  const script = new Script(source, {
    filename: path,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
  const dist = new URL('..', pathToFileURL(path)).href;
  const own: Exports = script.runInThisContext()(createRequire(path), dist, importModule);
  const { proctor, zod } = own;
  Object.defineProperty(globalThis, Symbol.for(SHARED_KEY), { value: { proctor, zod } });
  if (cachedData === undefined || script.cachedDataRejected === true) {
    setTimeout(() => writeCompiled(cache, name, script.createCachedData()), COMPILED_AFTER_MS).unref();
  }
  return own;
}

/** Imports on behalf of the script, because Node.js prints a warning if a script imports by itself. */
function importModule(importer: string, specifier: string): Promise<unknown> {
  return import(specifier.startsWith('.') ? new URL(specifier, importer).href : specifier);
}

/** The file name of the compiled code. V8 accepts it only with the same version, flags and processor. */
function compiledName({ id }: OwnBundle): string {
  const facts = [id, process.version, arch, process.execArgv, process.env.NODE_OPTIONS];
  return `${createHash('sha256').update(JSON.stringify(facts)).digest('hex')}.bin`;
}

function readCompiled(cache: CacheFolder, name: string): Buffer | undefined {
  const found = cache.read(name);
  if (found === undefined) return undefined;
  const compiled = found.subarray(DIGEST_BYTES);
  return digestOf(compiled).equals(found.subarray(0, DIGEST_BYTES)) ? compiled : undefined;
}

function writeCompiled(cache: CacheFolder, name: string, compiled: Buffer): void {
  cache.write(name, Buffer.concat([digestOf(compiled), compiled]));
}

function digestOf(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}
