// Plays the faults that the run service has to survive, in full: `npm run test:faults [-- <filter>...]`. FAULT_ROUNDS says
// how many rounds (default 20), FAULT_SEED with which seed the first one begins: a round that failed is played again so.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const filters = process.argv.slice(2);
const { status } = spawnSync(
  process.execPath,
  [vitest, 'run', '--typecheck.enabled=false', '--maxWorkers=1', ...(filters.length > 0 ? filters : ['test/faults'])],
  { cwd: root, stdio: 'inherit', env: { ...process.env, FAULT_ROUNDS: process.env.FAULT_ROUNDS ?? '20' } },
);
process.exitCode = status ?? 1;
