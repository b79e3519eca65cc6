// Builds the pages: src/web/app becomes hashed files in dist/web/app/, each with its gzip beside it; the page of the
// development helpers the same in dist/web/helpers/; and one script with one style for traces that are kept as a single file.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));
const app = `${root}src/web/app/`;

const common = {
  root: app,
  configFile: false,
  publicDir: false,
  logLevel: 'warn',
  mode: 'production',
  // Not by NODE_ENV, which tests set: elements of a development build carry the paths of their files.
  esbuild: { jsx: 'automatic', jsxDev: false, jsxImportSource: 'preact', legalComments: 'none' },
};
const output = { target: 'es2022', assetsInlineLimit: 0, modulePreload: false, reportCompressedSize: false };

export async function buildWeb() {
  await buildPages('app', 'main.tsx');
  await buildPages('helpers', 'helpers/main.tsx');
  await build({
    ...common,
    build: {
      ...output,
      outDir: `${root}dist/web/standalone`,
      emptyOutDir: true,
      cssCodeSplit: false,
      rollupOptions: {
        input: { standalone: `${app}standalone.tsx` },
        output: { format: 'iife', entryFileNames: '[name].js', assetFileNames: '[name][extname]' },
      },
    },
  });
}

async function buildPages(name, entry) {
  await build({
    ...common,
    build: {
      ...output,
      outDir: `${root}dist/web/${name}`,
      emptyOutDir: true,
      manifest: 'manifest.json',
      cssCodeSplit: false,
      rollupOptions: {
        input: { [name]: `${app}${entry}` },
        output: {
          entryFileNames: 'assets/[name]-[hash].js',
          chunkFileNames: 'assets/[name]-[hash].js',
          assetFileNames: `assets/${name}-[hash][extname]`,
        },
        onwarn: (warning, warn) => {
          // Rollup cannot place some annotations of a dependency; they say nothing of our code.
          if (warning.code !== 'INVALID_ANNOTATION') warn(warning);
        },
      },
    },
  });
  const assets = `${root}dist/web/${name}/assets/`;
  for (const file of readdirSync(assets)) {
    writeFileSync(`${assets}${file}.gz`, gzipSync(readFileSync(`${assets}${file}`), { level: 9 }));
  }
}
