import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (file: string) => fileURLToPath(new URL(`./src/${file}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^proctor$/, replacement: source('index.ts') },
      { find: /^proctor\/(client|run-service|scenario-server|testing)$/, replacement: source('$1.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.{ts,tsx}', 'environments/*/*.test.ts', 'docs/examples/*.test.ts'],
    globalSetup: ['test/build-once.ts'],
    typecheck: { enabled: true, include: ['test/**/*.test-d.ts'], tsconfig: './tsconfig.json' },
    // Most tests wait for processes of their own: a core that is kept free for Vitest itself would be idle.
    maxWorkers: '100%',
    // A worker keeps what it has loaded for the next file: loading it anew took a quarter of the time.
    isolate: false,
    unstubEnvs: true,
    unstubGlobals: true,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
