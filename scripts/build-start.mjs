// Emits dist/start/bundle.cjs: in one file, all that a process of an environment needs over stdio, with the packages that
// it needs and with what authors import. It is made of dist/, as tsc has left it.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const dist = fileURLToPath(new URL('../dist/', import.meta.url));

/** The name that authors import, and what it is here. */
const SHARED = { proctor: `${dist}index.js`, zod: 'zod' };
const ENTRY = `
export { failStart } from './environment/server/start/fail-start.js';
export { startOverStdio } from './environment/server/start/start-over-stdio.js';
export * as proctor from './index.js';
export * as zod from 'zod';
`;

export async function buildStart() {
  const { outputFiles } = await build({
    stdin: { contents: ENTRY, resolveDir: dist, sourcefile: 'start.js' },
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'own',
    platform: 'node',
    target: 'node20.19',
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [ownFiles],
  });
  const code = `(function (require, distUrl, importModule) {${outputFiles[0].text}return own})\n`;
  if (/\bimport\(/.test(code)) throw new Error('The bundle would import modules, which a script cannot');
  const header = { id: createHash('sha256').update(code).digest('hex'), names: await namesOf(SHARED) };
  mkdirSync(`${dist}start`, { recursive: true });
  // A process that starts meanwhile reads the old file or the new one.
  writeFileSync(`${dist}start/bundle.cjs.new`, `//${JSON.stringify(header)}\n${code}`);
  renameSync(`${dist}start/bundle.cjs.new`, `${dist}start/bundle.cjs`);
}

/**
 * A file of ours finds others beside itself: in the bundle too it has the address that it has in dist/. Whatever it
 * imports when it needs it is loaded from dist/ and node_modules, as by any other program.
 */
const ownFiles = {
  name: 'own-files',
  setup({ onLoad }) {
    onLoad({ filter: /\.js$/ }, ({ path }) => {
      if (!path.startsWith(dist)) return undefined;
      const address = `new URL(${JSON.stringify(relative(dist, path))}, distUrl).href`;
      const text = readFileSync(path, 'utf8').replaceAll(/\bimport\(/g, 'importModule(import.meta.url, ');
      return { contents: text.replaceAll('import.meta.url', address), loader: 'js' };
    });
  },
};

async function namesOf(modules) {
  const named = Object.entries(modules).map(async ([name, file]) => [name, Object.keys(await import(file)).sort()]);
  return Object.fromEntries(await Promise.all(named));
}
