import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Loader, type OnLoadArgs, type OnResolveArgs, type Plugin, type PluginBuild, stop } from 'esbuild';
import { type PreparedModule, sha256 } from './module-entry.ts';
import { SHARED_KEY } from './own-bundle.ts';
import { assertOwnFile, resolveImport } from './resolve-import.ts';
import { UnusualModuleError } from './unusual.ts';

/** Maximum number of characters. Reading a larger file is no faster than loading the original files. */
const MAX_LENGTH = 8 * 1024 * 1024;

/** Names that each shared module exports. */
export type SharedNames = Readonly<Record<string, readonly string[]>>;

/**
 * Bundles an author's module and all project files that it imports into one JavaScript module. Packages stay imports,
 * and shared packages are taken from the code that serves the environment. Decorators and other syntax that this
 * Node.js does not know are compiled as by tsx, so tsconfig.json is not read either.
 *
 * @throws esbuild's error for code that does not compile or is not found.
 */
export async function bundleModule(file: string, project: string, shared: SharedNames): Promise<PreparedModule> {
  const collected = new ModuleFiles(file, project, shared);
  try {
    const code = await compile(file, project, collected);
    return { code, ...collected.sources };
  } catch (error) {
    if (collected.unusual === undefined) throw error;
    return { code: undefined, ...collected.sources };
  } finally {
    // Stop the compiler's process, so that it does not stay a child of the environment.
    await stop();
  }
}

async function compile(file: string, project: string, collected: ModuleFiles): Promise<string> {
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
    // A file may be imported only for its side effects, even if its package claims to have none.
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
/** Imports that are known only at run time, and esbuild's replacement of `require` in a module. */
const COMPUTED = /\bimport\((?!")|\b__require\b/;
/** An import only for the side effects of a file. The pattern may also match text or a comment. */
const FOR_EFFECTS = /\bimport\s*["']\.\.?\//;
/** Uses of `import.meta` other than the properties that exist in every version, or as an argument. */
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

/** Finds and reads the files of one module for esbuild, and records them. */
class ModuleFiles {
  unusual: UnusualModuleError | undefined;
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

  /**
   * True if the order of execution may differ. A bundle runs all packages before the project's files, but one of these
   * files may prepare something for a package.
   */
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

  refuse(reason: string): UnusualModuleError {
    this.unusual = new UnusualModuleError(reason);
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
    if (kind !== 'import-statement' && kind !== 'dynamic-import') throw new UnusualModuleError(kind);
    const resolved = resolveImport(path, importer, this.#project, this.#absent);
    if (resolved.kind === 'file') return { path: resolved.path, sideEffects: true };
    if (!isBuiltin(path)) {
      const found = await esbuild.resolve(path, { kind, importer, resolveDir, pluginData: BY_ESBUILD });
      // The package is an unbuilt one of the same workspace.
      if (/\.[cm]?tsx?$/.test(found.path)) throw new UnusualModuleError(`${path} is TypeScript`);
      this.#hasPackages ||= kind === 'import-statement';
    }
    return { path, external: true };
  }

  #load({ path }: OnLoadArgs) {
    const extension = extname(path);
    const loader = LOADERS[extension];
    const isModule = this.#isModule || ['.mts', '.mjs', '.json'].includes(extension);
    if (loader === undefined || !isModule) throw new UnusualModuleError(`${path} is no ECMAScript module`);
    const text = this.#read(path);
    this.#hasEffects ||= FOR_EFFECTS.test(text);
    if (loader === 'json' || !text.includes('import.meta')) return { contents: text, loader };
    if (UNKNOWN_META.test(text)) throw new UnusualModuleError('a property of import.meta');
    // Added at the end, so that line numbers in the author's code do not change.
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
    // Exported names may be reserved words, so the variables get other names.
    return `const { ${names.map((each, index) => `${each}: own${index}`).join(', ')} } = ${value};
export { ${names.map((each, index) => `own${index} as ${each}`).join(', ')} };`;
  }

  async #noting<T>(step: () => T | Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      if (error instanceof UnusualModuleError) this.unusual = error;
      throw error;
    }
  }
}

function metaModule(path: string): string {
  const meta = { dirname: dirname(path), filename: path, url: pathToFileURL(path).href };
  return `export const ${META} = ${JSON.stringify(meta)};`;
}

/** Converts the sources to absolute URLs, because the map is not stored beside the files. */
function toMap(text: string, project: string): string {
  const map = JSON.parse(text) as { readonly sources: readonly string[] };
  const sources = map.sources.map((source) => pathToFileURL(resolve(project, source)).href);
  return Buffer.from(JSON.stringify({ ...map, sources })).toString('base64');
}
