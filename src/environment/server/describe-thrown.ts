import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { withoutQuotedKeys } from './audience.ts';

const OWN_FOLDERS = ['src', 'dist'].map((folder) => fileURLToPath(new URL(`../../../${folder}//`, import.meta.url)));
const FRAME = /^\s+at (?:.*\()?((?:file:\/\/)?\/[^()]*|file:\/\/[^()]*|[A-Za-z]:[^()]*):(\d+):(\d+)\)?$/;

/**
 * Describes a failure for the log: `The tool add failed at environments/shop/environment.ts:3:7: TypeError: …`, with
 * the stack.
 */
export function describeFailure(what: string, thrown: unknown): string {
  const place = placeOf(thrown);
  return `${what} failed${place === undefined ? '' : ` at ${place}`}: ${describeThrown(thrown)}`;
}

/** Describes an error of a connection for the log, cut to 500 characters because the SDK quotes whole messages. */
export function describeConnectionError(error: Error): string {
  return `The connection: ${withoutQuotedKeys(error.message).slice(0, 500)}`;
}

/** Describes an uncaught error in one line without the stack. The text continues "The environment …". */
export function describeUncaught(thrown: unknown): string {
  const place = placeOf(thrown);
  const [line = ''] = describeThrown(thrown).split('\n');
  return `threw an uncaught error${place === undefined ? '' : ` at ${place}`}: ${line}`;
}

/** Describes a thrown value in full. Never throws, although `inspect` does if a getter throws. */
export function describeThrown(thrown: unknown): string {
  try {
    return inspect(thrown);
  } catch {
    return 'something that cannot be shown';
  }
}

/**
 * The place where author code threw: file, line and column, relative to the working directory. Clients may see it, so a
 * file outside that directory is named only by its last folder. Undefined if no stack frame is the author's.
 */
export function placeOf(thrown: unknown): string | undefined {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 5; error = error.cause, depth += 1) {
    for (const line of stackOf(error).split('\n')) {
      const [, path, row, column] = FRAME.exec(line) ?? [];
      if (path === undefined) continue;
      const file = toPath(path);
      if (isOfAuthor(file)) return `${toShown(file)}:${row}:${column}`;
    }
  }
  return undefined;
}

/** Reading the stack may throw if an author's class has a getter for it. */
function stackOf(error: Error): string {
  try {
    return typeof error.stack === 'string' ? error.stack : '';
  } catch {
    return '';
  }
}

function isOfAuthor(file: string): boolean {
  // The cache contains compiled code without a place in the author's files.
  return (
    !/[\\/](?:node_modules|\.proctor[\\/]cache)[\\/]/.test(file) &&
    !OWN_FOLDERS.some((folder) => file.startsWith(folder))
  );
}

function toPath(path: string): string {
  if (!path.startsWith('file://')) return path;
  try {
    return fileURLToPath(path);
  } catch {
    return path;
  }
}

function toShown(file: string): string {
  const [name = file] = file.split(/[?#]/); // `proctor dev` adds a query to the URL to load a new version.
  const below = relative(process.cwd(), name);
  return below.startsWith('..') ? name.split(/[\\/]/).slice(-2).join('/') : below.replaceAll('\\', '/');
}
