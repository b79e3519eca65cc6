import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { withoutQuotedKeys } from './audience.ts';

const OWN_FOLDERS = ['src', 'dist'].map((folder) => fileURLToPath(new URL(`../../${folder}/`, import.meta.url)));
const FRAME = /^\s+at (?:.*\()?((?:file:\/\/)?\/[^()]*|file:\/\/[^()]*|[A-Za-z]:[^()]*):(\d+):(\d+)\)?$/;

/** A failure for the log: `The tool add failed at environments/shop/environment.ts:3:7: TypeError: …`, with the stack. */
export function describeFailure(what: string, thrown: unknown): string {
  const place = placeOf(thrown);
  return `${what} failed${place === undefined ? '' : ` at ${place}`}: ${describeThrown(thrown)}`;
}

/** Describes an error of a connection, for the log. The SDK quotes whole messages of any length. */
export function describeConnectionError(error: Error): string {
  return `The connection: ${withoutQuotedKeys(error.message).slice(0, 500)}`;
}

/** An error that nobody caught, in one line that continues "The environment …", without the stack. */
export function describeUncaught(thrown: unknown): string {
  const place = placeOf(thrown);
  const [line = ''] = describeThrown(thrown).split('\n');
  return `threw an error that nobody caught${place === undefined ? '' : ` at ${place}`}: ${line}`;
}

/** Describes a thrown value in full. Never throws, although `inspect` does when a getter throws. */
export function describeThrown(thrown: unknown): string {
  try {
    return inspect(thrown);
  } catch {
    return 'something that cannot be shown';
  }
}

/**
 * Where author code threw: file, line and column, relative to the working directory. It may go over the wire, so that a
 * file outside is named by its last folder alone. Undefined where no frame is the author's.
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

/** A getter of the author's may throw. */
function stackOf(error: Error): string {
  try {
    return typeof error.stack === 'string' ? error.stack : '';
  } catch {
    return '';
  }
}

function isOfAuthor(file: string): boolean {
  // Code that a compiler added to the author's has no place in the author's files.
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
  const [name = file] = file.split(/[?#]/); // As `dev` loads a version anew.
  const below = relative(process.cwd(), name);
  return below.startsWith('..') ? name.split(/[\\/]/).slice(-2).join('/') : below.replaceAll('\\', '/');
}
