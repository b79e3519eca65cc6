import { readdirSync, readFileSync } from 'node:fs';

/** A file that the pages load, as `scripts/build-web.mjs` made it. */
export interface Asset {
  readonly contentType: string;
  readonly bytes: Uint8Array;
  readonly gzip: Uint8Array;
}

export interface BuiltAssets {
  /** By file name. Names hold a hash of the content. */
  readonly files: ReadonlyMap<string, Asset>;
  /** Paths of what the pages begin with. */
  readonly script: string;
  readonly stylesheet: string;
}

/** The same place seen from src/web and from dist/web. */
const BUILT = new URL('../../dist/web/', import.meta.url);

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

export const ASSETS_PATH = '/assets/';

let built: BuiltAssets | undefined;

/** Read once. @throws Error where the pages were never built. */
export function builtAssets(): BuiltAssets {
  built ??= readAssets(new URL('app/', BUILT));
  return built;
}

/** Script and style of a trace that is a file of its own. @throws Error where the pages were never built. */
export function builtStandalone(): { readonly script: string; readonly style: string } {
  const read = (file: string) => readBuilt(new URL(`standalone/${file}`, BUILT)).toString('utf8');
  return { script: read('standalone.js'), style: read('style.css') };
}

function readAssets(directory: URL): BuiltAssets {
  const manifest: Readonly<Record<string, { readonly file: string; readonly isEntry?: boolean }>> = JSON.parse(
    readBuilt(new URL('manifest.json', directory)).toString('utf8'),
  );
  const assets = new URL('assets/', directory);
  const names = readdirSync(assets).filter((name) => !name.endsWith('.gz'));
  const files = names.map((name): [string, Asset] => {
    const bytes = readFileSync(new URL(name, assets));
    const gzip = readFileSync(new URL(`${name}.gz`, assets));
    const contentType = CONTENT_TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
    return [name, { contentType, bytes, gzip }];
  });
  const script = Object.values(manifest).find(({ isEntry }) => isEntry === true)?.file;
  const stylesheet = names.find((name) => name.endsWith('.css'));
  if (script === undefined || stylesheet === undefined)
    throw new Error(`The pages in ${directory.pathname} have no start`);
  return { files: new Map(files), script: `/${script}`, stylesheet: `${ASSETS_PATH}${stylesheet}` };
}

function readBuilt(file: URL): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new Error('The pages are not built: run "npm run build".', { cause });
  }
}
