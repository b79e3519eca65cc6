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

/** The pages of a server with traces, and the page of the development helpers. */
export type BuiltPages = 'app' | 'helpers';

/** The same place seen from src/http and from dist/http. */
const BUILT = new URL('../../dist/web/', import.meta.url);

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

export const ASSETS_PATH = '/assets/';

const built = new Map<BuiltPages, BuiltAssets>();

/** Read once. @throws Error where the pages were never built. */
export function builtAssets(pages: BuiltPages = 'app'): BuiltAssets {
  const known = built.get(pages);
  if (known !== undefined) return known;
  const assets = readAssets(new URL(`${pages}/`, BUILT));
  built.set(pages, assets);
  return assets;
}

/** A file as a browser may keep it for good: its name changes with its content. */
export function assetReply({ contentType, bytes, gzip }: Asset, acceptEncoding: unknown) {
  const isGzip = /\bgzip\b/.test(String(acceptEncoding ?? ''));
  return {
    headers: {
      'content-type': contentType,
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding, origin',
      'cross-origin-resource-policy': 'same-origin',
      ...(isGzip ? { 'content-encoding': 'gzip' } : {}),
    },
    body: isGzip ? gzip : bytes,
  };
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
