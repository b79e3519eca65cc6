import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { laneOf, SLOW_TESTS } from './test/lanes.ts';
import { testsToLeaveOut } from './test/without-referees.ts';

const lane = laneOf(process.env.TEST_LANE);
const everyTest = ['test/**/*.test.{ts,tsx}', 'environments/*/*.test.ts', 'docs/examples/*.test.ts'];
const source = (file: string) => fileURLToPath(new URL(`./src/${file}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^proctor$/, replacement: source('index.ts') },
      { find: /^proctor\/(client|run-service|scenario-server|testing|tools)$/, replacement: source('$1.ts') },
    ],
  },
  test: {
    include: lane === 'slow' ? [...SLOW_TESTS] : everyTest,
    exclude: [...configDefaults.exclude, ...testsToLeaveOut(), ...(lane === 'fast' ? SLOW_TESTS : [])],
    globalSetup: [
      'test/build-once.ts',
      'test/postgres-for-all.ts',
      'test/containers/engines-for-all.ts',
      'test/without-referees.ts',
    ],
    typecheck: { enabled: lane !== 'slow', include: ['test/**/*.test-d.ts'], tsconfig: './tsconfig.json' },
    // Most tests wait for processes of their own: a core that is kept free for Vitest itself would be idle.
    maxWorkers: '100%',
    // A worker keeps what it has loaded for the next file: loading it anew took a quarter of the time.
    isolate: false,
    // Processes that tests start with tsx get the built package, as a user's do: not what `paths` of tsconfig.json names.
    env: { TSX_TSCONFIG_PATH: fileURLToPath(new URL('tsconfig.build.json', import.meta.url)) },
    unstubEnvs: true,
    unstubGlobals: true,
    // No test judges time: a limit ends what hangs, on a machine with ten times too much to do as well.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
