import { spawnSync } from 'node:child_process';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { messageOf } from '../contract/errors.ts';

const CHECK_TIMEOUT_MS = 5_000;
const TYPESCRIPT = new Set(['.ts', '.mts', '.cts', '.tsx']);

/**
 * Loads an environment module: JavaScript as it is, TypeScript through tsx, without the settings of the project around
 * it, whose `experimentalDecorators` would call our decorators in another way.
 *
 * @param prepared the URL of a file that is the same module, ready to be imported.
 * @returns its default export.
 * @throws Error of one line: the file, the line and the column where that is known, and what is wrong there.
 */
export async function loadEnvironmentModule(path: string, prepared?: string): Promise<unknown> {
  const file = resolve(path);
  try {
    const module = (await importPrepared(prepared)) ?? (await importFile(file));
    return module.default;
  } catch (cause) {
    throw new Error(describeLoadFailure(file, cause), { cause });
  }
}

interface EnvironmentModule {
  readonly default?: unknown;
}

async function importFile(file: string): Promise<EnvironmentModule> {
  await prepareLoader(file);
  return await import(pathToFileURL(file).href);
}

/** @returns undefined where something that it imports is not there, or is TypeScript: tsx may find and load it. */
async function importPrepared(url: string | undefined): Promise<EnvironmentModule | undefined> {
  if (url === undefined) return undefined;
  process.setSourceMapsEnabled(true);
  try {
    return await import(url);
  } catch (error) {
    if (error instanceof Error && 'code' in error && UNRESOLVED.test(String(error.code))) return undefined;
    throw error;
  }
}

const UNRESOLVED = /^ERR_(?:MODULE_NOT_FOUND|UNKNOWN_FILE_EXTENSION|UNSUPPORTED_DIR_IMPORT|PACKAGE_|INVALID_PACKAGE_)/;

/** Makes this process able to load a module of that name. A second time it does nothing. */
export async function prepareLoader(path: string): Promise<void> {
  if (isPrepared || !TYPESCRIPT.has(extname(path))) return;
  isPrepared = true;
  const { register } = await import('tsx/esm/api');
  register({ tsconfig: false });
}

// State of the module, because the hooks of the loader are the process's: registered twice, they would run twice.
let isPrepared = false;

/** esbuild has the place in its message and other errors have a stack; a syntax error of JavaScript has neither. */
function describeLoadFailure(file: string, cause: unknown): string {
  const message = messageOf(cause);
  const transform = /^(.+?:\d+:\d+): ERROR: (.+)$/m.exec(message);
  if (transform !== null) return `${transform[1]}: ${transform[2]}`;
  const line = firstLine(message);
  const stack = cause instanceof Error ? (cause.stack ?? '') : '';
  const frame = new RegExp(`${toPattern(file)}:(\\d+(?::\\d+)?)`).exec(stack);
  if (frame !== null) return `${file}:${frame[1]}: ${line}`;
  // One that was thrown while the module ran, as by JSON.parse, has its frame; one of the module's own text has none.
  if (cause instanceof SyntaxError && !TYPESCRIPT.has(extname(file)))
    return `${findSyntaxError(file) ?? file}: ${line}`;
  return `${file}: ${line}`;
}

/** Asks Node.js for the place, which `import()` keeps to itself. Undefined where it is in a file that this one imports. */
function findSyntaxError(file: string): string | undefined {
  const { stderr } = spawnSync(process.execPath, ['--check', file], { encoding: 'utf8', timeout: CHECK_TIMEOUT_MS });
  const place = /^(.+):(\d+)\n.*\n( *)\^/m.exec(stderr ?? '');
  return place === null ? undefined : `${place[1]}:${place[2]}:${(place[3] ?? '').length + 1}`;
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}

function toPattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
