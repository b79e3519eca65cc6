import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Loader, type OnLoadArgs, type OnResolveArgs, type Plugin, type PluginBuild, stop } from 'esbuild';
import { type PreparedModule, sha256 } from './module-entry.ts';
import { SHARED_KEY } from './own-bundle.ts';
import { assertOwnFile, resolveImport } from './resolve-import.ts';
import { Unusual } from './unusual.ts';

/** Characters. Reading more than that is no faster than to load its files. */
const MAX_LENGTH = 8 * 1024 * 1024;

/** Names that a shared module exports, by the name of the module. */
export type SharedNames = Readonly<Record<string, readonly string[]>>;

/**
 * Makes one JavaScript module of an author's module and of all files of the project that it imports. Packages stay
 * imports, and those that are shared are taken from the code that serves the environment. Decorators and all that this
 * Node.js does not know are compiled as tsx does, which does not read a tsconfig.json either.
 *
 * @throws esbuild's error for what does not compile or is not found.
 */
export async function bundleModule(file: string, project: string, shared: SharedNames): Promise<PreparedModule> {
  const collected = new Collected(file, project, shared);
  try {
    const code = await compile(file, project, collected);
    return { code, ...collected.sources };
  } catch (error) {
    if (collected.unusual === undefined) throw error;
    return { code: undefined, ...collected.sources };
  } finally {
    // The compiler is a process, which must not be the environment's.
    await stop();
  }
}

async function compile(file: string, project: string, collected: Collected): Promise<string> {
  const { outputFiles, warnings } = await build({
    entryPoints: [file],
    bundle: true,
    write: false,
    outfile: join(project, 'module.mjs'),
    absWorkingDir: project,
    format: 'esm',
    platform: 'node',
    target: `node${process.versions.node}`,
    tsconfigRaw: {},
    conditions: [],
    define: { 'import.meta': META },
    sourcemap: 'external',
    sourcesContent: false,
    minifyWhitespace: true,
    legalComments: 'none',
    keepNames: true,
    // A file may be imported for its effects alone, whatever its package says of it.
    treeShaking: false,
    ignoreAnnotations: true,
    logLevel: 'silent',
    plugins: [collected.plugin],
  });
  const code = outputFiles.find(({ path }) => path.endsWith('.mjs'))?.text ?? '';
  const map = outputFiles.find(({ path }) => path.endsWith('.map'))?.text ?? '';
  const isUsual = warnings.length === 0 && code.length + map.length <= MAX_LENGTH && !COMPUTED.test(code);
  if (!isUsual) throw collected.refuse('its code');
  if (collected.isOrderDoubtful) throw collected.refuse('the order of its imports');
  return `${code}//# sourceMappingURL=data:application/json;base64,${toMap(map, project)}`;
}

const META = '__proctorMeta';
/** An import of something that is known only when it runs, and what esbuild makes of `require` in a module. */
const COMPUTED = /\bimport\((?!")|\b__require\b/;
/** An import of a file for its effects alone. It may match in a text or a comment too. */
const FOR_EFFECTS = /\bimport\s*["']\.\.?\//;
/** All but the properties that a module has in every version, and the object as an argument. */
const UNKNOWN_META = /\bimport\.meta\b(?!\s*\.\s*(?:url|dirname|filename)\b|\s*[,)])/;

const LOADERS: Readonly<Record<string, Loader>> = {
  '.ts': 'ts',
  '.mts': 'ts',
  '.tsx': 'tsx',
  '.js': 'js',
  '.mjs': 'js',
  '.json': 'json',
};

const BY_ESBUILD = Symbol('resolved by esbuild itself');

/** Finds and reads the files of one module for esbuild, and keeps in mind which they were. */
class Collected {
  unusual: Unusual | undefined;
  readonly #file: string;
  readonly #project: string;
  readonly #shared: SharedNames;
  readonly #isModule: boolean;
  readonly #inputs: Record<string, string> = {};
  readonly #absent = new Set<string>();
  #hasPackages = false;
  #hasEffects = false;

  constructor(file: string, project: string, shared: SharedNames) {
    this.#file = file;
    this.#project = project;
    this.#shared = shared;
    const { type } = JSON.parse(this.#read(join(project, 'package.json'))) as { readonly type?: unknown };
    this.#isModule = type === 'module';
  }

  get sources(): Pick<PreparedModule, 'inputs' | 'absent'> {
    return { inputs: this.#inputs, absent: [...this.#absent] };
  }

  /** One file of it runs all packages before all files of the project, of which one may prepare something for a package. */
  get isOrderDoubtful(): boolean {
    return this.#hasPackages && this.#hasEffects;
  }

  get plugin(): Plugin {
    return {
      name: 'environment',
      setup: (on) => {
        on.onResolve({ filter: /./ }, (args) => this.#noting(() => this.#resolve(args, on)));
        on.onLoad({ filter: /./, namespace: 'file' }, (args) => this.#noting(() => this.#load(args)));
        on.onLoad({ filter: /./, namespace: 'shared' }, ({ path }) => ({ contents: this.#sharedModule(path) }));
        on.onLoad({ filter: /./, namespace: 'meta' }, ({ path }) => ({ contents: metaModule(path) }));
      },
    };
  }

  refuse(reason: string): Unusual {
    this.unusual = new Unusual(reason);
    return this.unusual;
  }

  async #resolve({ path, importer, kind, resolveDir, pluginData }: OnResolveArgs, esbuild: PluginBuild) {
    if (pluginData === BY_ESBUILD) return undefined;
    if (kind === 'entry-point') {
      assertOwnFile(this.#file, this.#project, this.#absent);
      return { path: this.#file };
    }
    if (path.startsWith('meta:')) return { path: path.slice('meta:'.length), namespace: 'meta' };
    if (Object.hasOwn(this.#shared, path)) return { path, namespace: 'shared' };
    if (kind !== 'import-statement' && kind !== 'dynamic-import') throw new Unusual(kind);
    const resolved = resolveImport(path, importer, this.#project, this.#absent);
    if (resolved.kind === 'file') return { path: resolved.path, sideEffects: true };
    if (!isBuiltin(path)) {
      const found = await esbuild.resolve(path, { kind, importer, resolveDir, pluginData: BY_ESBUILD });
      // One of the same workspace, which is not built.
      if (/\.[cm]?tsx?$/.test(found.path)) throw new Unusual(`${path} is TypeScript`);
      this.#hasPackages ||= kind === 'import-statement';
    }
    return { path, external: true };
  }

  #load({ path }: OnLoadArgs) {
    const extension = extname(path);
    const loader = LOADERS[extension];
    const isModule = this.#isModule || ['.mts', '.mjs', '.json'].includes(extension);
    if (loader === undefined || !isModule) throw new Unusual(`${path} is no ECMAScript module`);
    const text = this.#read(path);
    this.#hasEffects ||= FOR_EFFECTS.test(text);
    if (loader === 'json' || !text.includes('import.meta')) return { contents: text, loader };
    if (UNKNOWN_META.test(text)) throw new Unusual('a property of import.meta');
    // Below the author's code, whose lines and columns stay as they are.
    return { contents: `${text}\nimport { ${META} } from ${JSON.stringify(`meta:${path}`)};`, loader };
  }

  #read(path: string): string {
    const content = readFileSync(path);
    this.#inputs[path] = sha256(content);
    return content.toString('utf8');
  }

  #sharedModule(name: string): string {
    const names = this.#shared[name] ?? [];
    const value = `globalThis[Symbol.for(${JSON.stringify(SHARED_KEY)})][${JSON.stringify(name)}]`;
    // Some are words that no variable may have as its name.
    return `const { ${names.map((each, index) => `${each}: own${index}`).join(', ')} } = ${value};
export { ${names.map((each, index) => `own${index} as ${each}`).join(', ')} };`;
  }

  async #noting<T>(step: () => T | Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      if (error instanceof Unusual) this.unusual = error;
      throw error;
    }
  }
}

function metaModule(path: string): string {
  const meta = { dirname: dirname(path), filename: path, url: pathToFileURL(path).href };
  return `export const ${META} = ${JSON.stringify(meta)};`;
}

/** With the author's files by their addresses, since the map does not lie beside them. */
function toMap(text: string, project: string): string {
  const map = JSON.parse(text) as { readonly sources: readonly string[] };
  const sources = map.sources.map((source) => pathToFileURL(resolve(project, source)).href);
  return Buffer.from(JSON.stringify({ ...map, sources })).toString('base64');
}
