import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EnvironmentTarget } from 'proctor/client';
import { type ExpectedTask, readExpected, readShop } from './retail/expected.ts';
import { inParallel } from './retail/parallel.ts';
import { replayTask } from './retail/replay-task.ts';
import { type Runs, type TaskRun, withRunService } from './retail/run-tasks.ts';

const USAGE = `Usage: npm run replay:retail -- <directory> [--every-record]

The directory has db.json, policy.md, tasks.json and expected.jsonl. Exit code 1 when anything is not as expected.

1. The reference calls of every task, each task in a process of the environment of its own, over MCP: each result, the
   records that have changed and the reward are compared with expected.jsonl. With --every-record all other orders and
   users are read too, after each task, and compared with db.json (some minutes).
2. Every task as a run of the run service, with the model that plays the reference calls: reward 1.
3. The same with the model that does nothing: reward 0, or 1 where the reference calls change nothing.
4. Each run of 2 is replayed: nothing differs.
5. The same in an environment of which one tool answers otherwise: the runs that call it differ, at that tool, and no other.`;

const TASKS_AT_A_TIME = 2;
const environmentPath = fileURLToPath(new URL('../environments/retail/environment.ts', import.meta.url));
const changedPath = fileURLToPath(new URL('./retail/changed-environment.ts', import.meta.url));

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const everyRecord = args.includes('--every-record');
  const [directory, ...others] = args.filter((argument) => argument !== '--every-record');
  if (directory === undefined || directory.startsWith('-') || others.length > 0) {
    console.error(USAGE);
    return 2;
  }
  const data = resolve(directory);
  const expected = readExpected(data);
  const target: EnvironmentTarget = { kind: 'module', path: environmentPath, env: { RETAIL_DATA: data } };
  const isReplayed = await replay(expected, data, target, everyRecord);
  const areRunsRight = await withRunService(target, async (service) => {
    const oracle = await runOracle(expected, service);
    const isNoopRight = await runNoop(expected, service);
    return [oracle.isRight, isNoopRight, await replayTraces(oracle.runs, target, data, service)];
  });
  return isReplayed && areRunsRight.every((isRight) => isRight) ? 0 : 1;
}

/** Replays runs in the environment that they were played in, then in one of which a tool has changed. */
async function replayTraces(
  runs: readonly TaskRun[],
  target: EnvironmentTarget,
  data: string,
  service: Runs,
): Promise<boolean> {
  const same = await service.replay(runs, target, TASKS_AT_A_TIME);
  const identical = same.filter(({ isIdentical }) => isIdentical).length;
  console.log(`replayed: ${identical} of ${same.length} runs of the oracle identical`);
  const tool = mostDividing(same.map(({ tools }) => tools));
  const env = { RETAIL_DATA: data, CHANGED_TOOL: tool };
  const changed = await service.replay(runs, { kind: 'module', path: changedPath, env }, TASKS_AT_A_TIME);
  const wrong = changed.filter(({ tools, differsAt }) => differsAt !== (tools.includes(tool) ? tool : undefined));
  for (const { taskId, differsAt = 'nothing' } of wrong) console.log(`task ${taskId}: differs at ${differsAt}`);
  const calling = changed.filter(({ tools }) => tools.includes(tool)).length;
  const differing = changed.filter(({ isIdentical }) => !isIdentical).length;
  console.log(`with a changed ${tool}, which ${calling} runs call: ${differing} differ, ${wrong.length} wrongly`);
  return identical === same.length && wrong.length === 0;
}

/** The tool that the most even parts of the runs call and do not. */
function mostDividing(runs: readonly (readonly string[])[]): string {
  const names = [...new Set(runs.flat())];
  const distance = (name: string) => Math.abs(runs.filter((tools) => tools.includes(name)).length - runs.length / 2);
  const [nearest = ''] = names.sort((one, other) => distance(one) - distance(other));
  return nearest;
}

async function replay(
  expected: readonly ExpectedTask[],
  directory: string,
  target: EnvironmentTarget,
  everyRecord: boolean,
): Promise<boolean> {
  const shop = readShop(directory);
  const outcomes = await inParallel(expected, TASKS_AT_A_TIME, (task) =>
    replayTask(task, shop, target, { everyRecord }),
  );
  for (const { id, faults } of outcomes) for (const fault of faults) console.log(`task ${id}: ${fault}`);
  const calls = outcomes.reduce((sum, outcome) => sum + outcome.calls, 0);
  const matchedCalls = outcomes.reduce((sum, outcome) => sum + outcome.matchedCalls, 0);
  const matchedTasks = outcomes.filter(({ faults }) => faults.length === 0).length;
  console.log(`calls matched ${matchedCalls}/${calls}, tasks matched ${matchedTasks}/${outcomes.length}`);
  return matchedCalls === calls && matchedTasks === outcomes.length;
}

async function runOracle(expected: readonly ExpectedTask[], service: Runs) {
  const runs = await runAndReport('proctor/oracle', expected, service, () => 1);
  const rewarded = runs.filter(({ reward }) => reward === 1).length;
  console.log(`oracle: ${completed(runs)} completed, ${rewarded} × reward 1`);
  return { runs, isRight: runs.every(({ isRight }) => isRight) };
}

async function runNoop(expected: readonly ExpectedTask[], service: Runs): Promise<boolean> {
  const runs = await runAndReport('proctor/noop', expected, service, (task) => (changesNothing(task) ? 1 : 0));
  const without = runs.filter(({ reward }) => reward === 0).length;
  const rewarded = runs.filter(({ reward }) => reward === 1).length;
  const still = expected.filter(changesNothing).length;
  console.log(
    `noop: ${completed(runs)} completed, ${without} × reward 0 (${expected.length - still} tasks change the database), ` +
      `${rewarded} × reward 1 (${still} do not)`,
  );
  return runs.every(({ isRight }) => isRight);
}

/** Names each run that did not complete with the reward that it should have. */
async function runAndReport(
  model: string,
  expected: readonly ExpectedTask[],
  service: Runs,
  rewardOf: (task: ExpectedTask) => number,
) {
  const rewards = new Map(expected.map((task) => [task.id, rewardOf(task)]));
  const runs = await service.run(model, [...rewards.keys()], TASKS_AT_A_TIME);
  return runs.map((run) => {
    const isRight = run.status === 'completed' && run.reward === rewards.get(run.taskId);
    if (!isRight) console.log(`task ${run.taskId} with ${model}: ${run.status}, reward ${run.reward}`);
    return { ...run, isRight };
  });
}

function completed(runs: readonly { readonly status: string }[]): number {
  return runs.filter(({ status }) => status === 'completed').length;
}

function changesNothing({ changed_records: { orders, users } }: ExpectedTask): boolean {
  return Object.keys(orders).length + Object.keys(users).length === 0;
}
