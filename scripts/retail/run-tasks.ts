import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import {
  createAccounts,
  createDatabaseQueue,
  createModels,
  createTraceStore,
  type EnvironmentTarget,
  openDatabase,
  startRunService,
} from 'proctor/run-service';
import { z } from 'zod';
import { inParallel } from './parallel.ts';

const WAIT_SECONDS = 240;
/** Longer than the service waits, so that its answer comes first. */
const REQUEST_LIMIT_MS = 300_000;

const runSchema = z.object({
  trace_id: z.string(),
  status: z.string(),
  reward: z.number().nullish(),
});

export interface TaskRun {
  readonly taskId: string;
  readonly status: string;
  readonly reward: number | null;
}

/** Runs tasks with a model, at most `lanes` at a time. */
export type RunTasks = (model: string, taskIds: readonly string[], lanes: number) => Promise<readonly TaskRun[]>;

/** Starts a run service on a store of its own, gives `work` what runs tasks on it over HTTP, and leaves nothing behind. */
export async function withRunService<Result>(
  target: EnvironmentTarget,
  work: (runTasks: RunTasks) => Promise<Result>,
): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'replay-retail-'));
  const database = await openDatabase(`sqlite:${join(directory, 'runs.db')}`);
  try {
    const appUrl = 'http://127.0.0.1';
    const accounts = createAccounts(database);
    const { key } = await accounts.createKey({ name: 'replay' });
    const service = await startRunService({
      environments: new Map([['retail', target]]),
      database,
      store: createTraceStore(database, { appUrl }),
      queue: createDatabaseQueue(database),
      accounts,
      models: createModels({}),
      host: '127.0.0.1',
      port: 0,
      appUrl,
      logger: pino({ level: 'error' }, pino.destination(2)),
    });
    try {
      return await work((model, taskIds, lanes) =>
        inParallel(taskIds, lanes, (taskId) => runTask(service.url, key, model, taskId)),
      );
    } finally {
      await service.close();
    }
  } finally {
    await database.close();
    await rm(directory, { recursive: true, force: true });
  }
}

async function runTask(url: string, key: string, model: string, taskId: string): Promise<TaskRun> {
  const response = await fetch(`${url}/v1/agent/run`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      prefer: `wait=${WAIT_SECONDS}`,
    },
    body: JSON.stringify({ env_name: 'retail', scenario_name: 'task', scenario_args: { task_id: taskId }, model }),
    signal: AbortSignal.timeout(REQUEST_LIMIT_MS),
  });
  const body = await response.text();
  if (!response.ok) throw new Error(`POST /v1/agent/run for task ${taskId} answered ${response.status}: ${body}`);
  const { status, reward } = runSchema.parse(JSON.parse(body));
  return { taskId, status, reward: reward ?? null };
}
