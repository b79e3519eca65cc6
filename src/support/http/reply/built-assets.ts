import { readdirSync, readFileSync } from 'node:fs';

/** A file of the pages, built by `scripts/build-web.mjs`. */
export interface Asset {
  readonly contentType: string;
  readonly bytes: Uint8Array;
  readonly gzip: Uint8Array;
}

export interface BuiltAssets {
  /** Files by name. Names contain a hash of the content. */
  readonly files: ReadonlyMap<string, Asset>;
  /** Paths of the entry files of the pages. */
  readonly script: string;
  readonly stylesheet: string;
}

/** Names of the built pages: the app for traces, and the development helpers. */
export type BuiltPages = 'app' | 'helpers';

/** This relative path is valid from src and from dist. */
const BUILT = new URL('../../../../dist/web/', import.meta.url);

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

export const ASSETS_PATH = '/assets/';

const built = new Map<BuiltPages, BuiltAssets>();

/** The built files, read once. @throws Error when the pages were not built. */
export function builtAssets(pages: BuiltPages = 'app'): BuiltAssets {
  const known = built.get(pages);
  if (known !== undefined) return known;
  const assets = readAssets(new URL(`${pages}/`, BUILT));
  built.set(pages, assets);
  return assets;
}

/** The reply with a file that browsers may cache forever: its name changes with its content. */
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

/** Script and style for a trace that is exported as one HTML file. @throws Error when the pages were not built. */
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
