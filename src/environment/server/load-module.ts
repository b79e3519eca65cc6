import { spawnSync } from 'node:child_process';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { messageOf } from '../../contract/errors.ts';

const CHECK_TIMEOUT_MS = 5_000;
const TYPESCRIPT = new Set(['.ts', '.mts', '.cts', '.tsx']);

/**
 * Loads an environment module, TypeScript through tsx. The project's tsconfig.json is ignored, because
 * `experimentalDecorators` there would call our decorators in a different way.
 *
 * @param prepared is the URL of a prepared file with the same module.
 * @returns the default export.
 * @throws Error of one line with the file, the line and the column if known, and the problem.
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

/** @returns undefined if an import is missing or is TypeScript, because tsx may be able to load it. */
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

/** Prepares this process to load a module with this extension. Further calls do nothing. */
export async function prepareLoader(path: string): Promise<void> {
  if (isPrepared || !TYPESCRIPT.has(extname(path))) return;
  isPrepared = true;
  const { register } = await import('tsx/esm/api');
  register({ tsconfig: false });
}

// Module state, because loader hooks belong to the process: if registered twice, they would run twice.
let isPrepared = false;

/**
 * Describes the error with its place. esbuild puts the place into the message, other errors have a stack; a JavaScript
 * syntax error has neither.
 */
function describeLoadFailure(file: string, cause: unknown): string {
  const message = messageOf(cause);
  const transform = /^(.+?:\d+:\d+): ERROR: (.+)$/m.exec(message);
  if (transform !== null) return `${transform[1]}: ${transform[2]}`;
  const line = firstLine(message);
  const stack = cause instanceof Error ? (cause.stack ?? '') : '';
  const frame = new RegExp(`${toPattern(file)}:(\\d+(?::\\d+)?)`).exec(stack);
  if (frame !== null) return `${file}:${frame[1]}: ${line}`;
  // A syntax error with a stack frame was thrown at run time, such as by JSON.parse. Without one it is in the module's
  // text.
  if (cause instanceof SyntaxError && !TYPESCRIPT.has(extname(file)))
    return `${findSyntaxError(file) ?? file}: ${line}`;
  return `${file}: ${line}`;
}

/**
 * The place of a syntax error from `node --check`, because `import()` does not reveal it. Undefined if it is in an
 * imported file.
 */
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
