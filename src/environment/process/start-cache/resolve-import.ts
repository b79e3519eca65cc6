import { existsSync, realpathSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, extname, join, relative, resolve, sep } from 'node:path';
import { UnusualModuleError } from './unusual.ts';

/** Source extensions that an output extension may mean, in the order in which tsx tries them. */
const SOURCES: Readonly<Record<string, readonly string[]>> = {
  '.js': ['.ts', '.tsx'],
  '.mjs': ['.mts'],
};
const LOADED = new Set(['.ts', '.mts', '.tsx', '.js', '.mjs', '.json']);
/** Packages that are in the bundle and would be loaded twice. */
const IN_BUNDLE = /^(?:proctor|zod|@modelcontextprotocol)\//;
/** Threads are not supported, because a thread may be started with a TypeScript file. */
const THREADS = /^(?:node:)?worker_threads$/;

export type Resolved = { readonly kind: 'file'; readonly path: string } | { readonly kind: 'package' };

/**
 * Finds the file or package that an import means, if Node.js and tsx agree on it.
 *
 * @param absent collects paths that do not exist, and where a file would change the result.
 * @throws UnusualModuleError in all other cases.
 */
export function resolveImport(specifier: string, importer: string, project: string, absent: Set<string>): Resolved {
  if (THREADS.test(specifier)) throw new UnusualModuleError('a thread');
  if (isBuiltin(specifier)) return { kind: 'package' };
  if (!/^\.\.?\//.test(specifier)) {
    if (/^(?:[#/\\]|[a-z][a-z\d+.-]*:)/i.test(specifier) || IN_BUNDLE.test(specifier)) {
      throw new UnusualModuleError(`import of ${specifier}`);
    }
    return { kind: 'package' };
  }
  if (/[?#%]/.test(specifier)) throw new UnusualModuleError(`import of ${specifier}`);
  const path = findFile(resolve(dirname(importer), specifier), absent);
  assertOwnFile(path, project, absent);
  return { kind: 'file', path };
}

/** @throws UnusualModuleError for a file to which the rules of the project do not apply. */
export function assertOwnFile(path: string, project: string, absent: Set<string>): void {
  const inside = relative(project, path);
  if (inside.startsWith('..') || inside.split(sep).includes('node_modules'))
    throw new UnusualModuleError(`a file at ${path}`);
  if (!LOADED.has(extname(path))) throw new UnusualModuleError(`a file of the kind ${extname(path)}`);
  for (let folder = dirname(path); folder !== project; folder = dirname(folder)) {
    for (const name of ['package.json', 'node_modules']) assertAbsent(join(folder, name), absent);
  }
}

function findFile(path: string, absent: Set<string>): string {
  const extension = extname(path);
  const stem = path.slice(0, path.length - extension.length);
  const sources = (SOURCES[extension] ?? []).map((other) => stem + other);
  const [found, ...others] = [path, ...sources].filter((each) => isFile(each));
  if (found === undefined || others.length > 0) throw new UnusualModuleError(`${path} is none or many`);
  for (const each of [path, ...sources]) if (each !== found) absent.add(each);
  // Only the target of a link would be checked for changes, not the link itself, which may change before the next
  // start.
  if (realpathSync(found) !== found) throw new UnusualModuleError(`${found} is a link`);
  return found;
}

function assertAbsent(path: string, absent: Set<string>): void {
  if (existsSync(path)) throw new UnusualModuleError(`${path} has rules of its own`);
  absent.add(path);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
