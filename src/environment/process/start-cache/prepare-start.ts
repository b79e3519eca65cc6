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
  /** URL of a file with the environment's whole module in JavaScript. */
  readonly module: string;
}

/**
 * Prepares a fast start of a TypeScript environment from two files: our code and the author's code. They are in
 * `.proctor/cache` of the project, which is the nearest folder with a `package.json`. Missing files are made.
 *
 * @returns undefined if the environment has to be loaded file by file: the folder is not writable, or the module does
 *   not compile or uses something unusual. Never rejects.
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
    return undefined; // The normal start that follows reports the error.
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

/** The nearest folder with a `package.json`, which decides where packages are found and what type the modules have. */
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

/** @returns undefined if the author's `proctor` is another installation than this one. */
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

/**
 * The name of a cache file. It changes with the module and with everything that affects the bundle. tsconfig.json does
 * not.
 */
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
