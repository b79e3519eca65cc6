import { readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CacheFolder } from './cache-folder.ts';
import { readEntry, sha256, writeEntry } from './module-entry.ts';
import { type OwnBundle, type OwnCode, readOwnBundle, runOwnBundle } from './own-bundle.ts';

const TYPESCRIPT = new Set(['.ts', '.mts', '.tsx']);

export interface PreparedStart {
  readonly code: OwnCode;
  /** URL of a file that is the environment's module, in JavaScript and without other files of the author. */
  readonly module: string;
}

/**
 * Prepares the start of an environment that is written in TypeScript: our code and the author's, a file each, from the
 * `.proctor/cache` of the project, which is the nearest folder with a `package.json`. What is not there yet is made.
 *
 * @returns undefined where it has to be started file by file: a folder that cannot be written, a module that does not
 *   compile or that has something unusual. Never rejects.
 */
export async function prepareStart(path: string): Promise<PreparedStart | undefined> {
  try {
    if (!TYPESCRIPT.has(extname(path))) return undefined;
    const file = realpathSync(path);
    const project = projectOf(file);
    const packages = project === undefined ? undefined : sharedPackagesOf(project);
    if (project === undefined || packages === undefined) return undefined;
    const cache = CacheFolder.open(join(project, '.proctor', 'cache'));
    if (cache === undefined) return undefined;
    const bundle = readOwnBundle();
    const name = entryName(file, bundle, packages);
    const found = readEntry(cache, name) ?? (await prepareModule(file, project, { bundle, packages, cache, name }));
    if (found !== 'ready') return undefined;
    return { code: runOwnBundle(bundle, cache), module: pathToFileURL(cache.pathOf(name)).href };
  } catch {
    return undefined; // The start that follows says what is wrong.
  }
}

interface Parts {
  readonly bundle: OwnBundle;
  readonly packages: SharedPackages;
  readonly cache: CacheFolder;
  readonly name: string;
}

async function prepareModule(
  file: string,
  project: string,
  { bundle, packages, cache, name }: Parts,
): Promise<'ready' | undefined> {
  const { bundleModule } = await import('./bundle-module.ts');
  const names = packages.hasOurZod ? bundle.names : { proctor: bundle.names.proctor };
  const prepared = await bundleModule(file, project, names);
  const isWritten = writeEntry(cache, name, prepared);
  return isWritten && prepared.code !== undefined ? 'ready' : undefined;
}

/** The nearest folder with a `package.json`: from there packages are found, and there the type of its modules is said. */
function projectOf(file: string): string | undefined {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    if (readJson(join(folder, 'package.json')) !== undefined) return folder;
  }
  return undefined;
}

interface SharedPackages {
  readonly hasOurZod: boolean;
  /** Versions of this package and of the compiler. */
  readonly versions: readonly unknown[];
}

/** @returns undefined where the author's `proctor` is another installation than this one. */
function sharedPackagesOf(project: string): SharedPackages | undefined {
  const theirs = createRequire(join(project, 'package.json'));
  const ours = createRequire(import.meta.url);
  const isSame = (name: string) => manifestOf(theirs, name) === manifestOf(ours, name);
  if (!isSame('proctor')) return undefined;
  const versions = ['proctor', 'esbuild'].map((name) => readJson(manifestOf(ours, name) ?? '')?.version);
  return { hasOurZod: isSame('zod'), versions };
}

function manifestOf(require: NodeJS.Require, name: string): string | undefined {
  try {
    return realpathSync(require.resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

/** Another file for each module, and for all that has a part in what is made of it; tsconfig.json has none. */
function entryName(file: string, { id }: OwnBundle, packages: SharedPackages): string {
  return `${sha256(JSON.stringify([file, id, process.version, packages]))}.mjs`;
}

function readJson(path: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}
