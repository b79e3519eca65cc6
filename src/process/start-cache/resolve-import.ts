import { existsSync, realpathSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, extname, join, relative, resolve, sep } from 'node:path';
import { Unusual } from './unusual.ts';

/** Sources that a path of the output may stand for, in the order in which tsx looks for them. */
const SOURCES: Readonly<Record<string, readonly string[]>> = {
  '.js': ['.ts', '.tsx'],
  '.mjs': ['.mts'],
};
const LOADED = new Set(['.ts', '.mts', '.tsx', '.js', '.mjs', '.json']);
/** Packages that the bundle has a copy of, and that would be there twice. */
const IN_BUNDLE = /^(?:proctor|zod|@modelcontextprotocol)\//;
/** A thread may be started with a file in TypeScript. */
const THREADS = /^(?:node:)?worker_threads$/;

export type Resolved = { readonly kind: 'file'; readonly path: string } | { readonly kind: 'package' };

/**
 * Finds what an import of an author stands for, as Node.js and tsx do, where both leave no doubt.
 *
 * @param absent takes the paths where nothing was, and where something would change the answer.
 * @throws Unusual for everything else.
 */
export function resolveImport(specifier: string, importer: string, project: string, absent: Set<string>): Resolved {
  if (THREADS.test(specifier)) throw new Unusual('a thread');
  if (isBuiltin(specifier)) return { kind: 'package' };
  if (!/^\.\.?\//.test(specifier)) {
    if (/^(?:[#/\\]|[a-z][a-z\d+.-]*:)/i.test(specifier) || IN_BUNDLE.test(specifier)) {
      throw new Unusual(`import of ${specifier}`);
    }
    return { kind: 'package' };
  }
  if (/[?#%]/.test(specifier)) throw new Unusual(`import of ${specifier}`);
  const path = findFile(resolve(dirname(importer), specifier), absent);
  assertOwnFile(path, project, absent);
  return { kind: 'file', path };
}

/** @throws Unusual for a file that a module of the project would not find by the rules of the project. */
export function assertOwnFile(path: string, project: string, absent: Set<string>): void {
  const inside = relative(project, path);
  if (inside.startsWith('..') || inside.split(sep).includes('node_modules')) throw new Unusual(`a file at ${path}`);
  if (!LOADED.has(extname(path))) throw new Unusual(`a file of the kind ${extname(path)}`);
  for (let folder = dirname(path); folder !== project; folder = dirname(folder)) {
    for (const name of ['package.json', 'node_modules']) assertAbsent(join(folder, name), absent);
  }
}

function findFile(path: string, absent: Set<string>): string {
  const extension = extname(path);
  const stem = path.slice(0, path.length - extension.length);
  const sources = (SOURCES[extension] ?? []).map((other) => stem + other);
  const [found, ...others] = [path, ...sources].filter((each) => isFile(each));
  if (found === undefined || others.length > 0) throw new Unusual(`${path} is none or many`);
  for (const each of [path, ...sources]) if (each !== found) absent.add(each);
  // Its target would be checked for changes, and not the link, which may lead elsewhere by the next start.
  if (realpathSync(found) !== found) throw new Unusual(`${found} is a link`);
  return found;
}

function assertAbsent(path: string, absent: Set<string>): void {
  if (existsSync(path)) throw new Unusual(`${path} has rules of its own`);
  absent.add(path);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
