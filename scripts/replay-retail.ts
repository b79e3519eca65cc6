import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EnvironmentTarget } from 'proctor/client';
import { type ExpectedTask, readExpected, readShop, type Shop } from './retail/expected.ts';
import { inParallel } from './retail/parallel.ts';
import { replayTask } from './retail/replay-task.ts';

// `npm run replay:retail -- <directory>`: plays the reference calls of every task of a directory through the real path (an
// MCP client, a process of the environment for each task, its tools) and compares each result, and every record after
// them, with the directory's `expected.jsonl`. Then it runs every task through the run service, with the oracle and with
// the model that does nothing. Exit code 1 when anything is not as expected.

const TASKS_AT_A_TIME = 2;
const environmentPath = fileURLToPath(new URL('../environments/retail/environment.ts', import.meta.url));

process.exitCode = await main(process.argv[2]);

async function main(directory: string | undefined): Promise<number> {
  if (directory === undefined) {
    console.error('Usage: npm run replay:retail -- <directory with db.json, policy.md, tasks.json and expected.jsonl>');
    return 2;
  }
  const data = resolve(directory);
  const expected = readExpected(data);
  const isReplayed = await replay(expected, readShop(data), {
    kind: 'module',
    path: environmentPath,
    env: { RETAIL_DATA: data },
  });
  return isReplayed ? 0 : 1;
}

async function replay(expected: readonly ExpectedTask[], shop: Shop, target: EnvironmentTarget): Promise<boolean> {
  const outcomes = await inParallel(expected, TASKS_AT_A_TIME, (task) => replayTask(task, shop, target));
  for (const { id, faults } of outcomes) for (const fault of faults) console.log(`task ${id}: ${fault}`);
  const calls = outcomes.reduce((sum, outcome) => sum + outcome.calls, 0);
  const matchedCalls = outcomes.reduce((sum, outcome) => sum + outcome.matchedCalls, 0);
  const matchedTasks = outcomes.filter(({ faults }) => faults.length === 0).length;
  console.log(`calls matched ${matchedCalls}/${calls}, tasks matched ${matchedTasks}/${outcomes.length}`);
  return matchedCalls === calls && matchedTasks === outcomes.length;
}
