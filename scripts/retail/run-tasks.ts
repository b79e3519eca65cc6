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
const traceSchema = z.object({
  steps: z.array(z.object({ tool_results: z.array(z.object({ name: z.string() })) })),
  replay: z
    .object({
      identical: z.boolean(),
      difference: z.object({ at: z.string(), step: z.int().nullable(), call: z.int().nullable() }).nullable(),
    })
    .nullable(),
});

export interface TaskRun {
  readonly taskId: string;
  readonly traceId: string;
  readonly status: string;
  readonly reward: number | null;
}

/** A run that was replayed. */
export interface ReplayedRun {
  readonly taskId: string;
  /** Names of the tools that it calls, in order. */
  readonly tools: readonly string[];
  readonly isIdentical: boolean;
  /** Name of the tool whose result differs first; undefined where none does. */
  readonly differsAt: string | undefined;
}

/** A run service with a store that lives as long as it. */
export interface Runs {
  /** Runs tasks with a model, at most `lanes` at a time. */
  run(model: string, taskIds: readonly string[], lanes: number): Promise<readonly TaskRun[]>;
  /** Replays runs of the same store in an environment, which need not be the one that they were played in. */
  replay(runs: readonly TaskRun[], target: EnvironmentTarget, lanes: number): Promise<readonly ReplayedRun[]>;
}

/** Starts run services on a store of their own, gives `work` what runs tasks on them over HTTP, and leaves nothing behind. */
export async function withRunService<Result>(
  target: EnvironmentTarget,
  work: (runs: Runs) => Promise<Result>,
): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'replay-retail-'));
  const database = await openDatabase(`sqlite:${join(directory, 'runs.db')}`);
  const appUrl = 'http://127.0.0.1';
  const accounts = createAccounts(database);
  const { key } = await accounts.createKey({ name: 'replay' });
  const serving = async <T>(environment: EnvironmentTarget, use: (client: Client) => Promise<T>): Promise<T> => {
    const service = await startRunService({
      environments: new Map([['retail', environment]]),
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
      return await use(createClient(service.url, key));
    } finally {
      await service.close();
    }
  };
  try {
    return await work({
      run: (model, taskIds, lanes) =>
        serving(target, (client) => inParallel(taskIds, lanes, (taskId) => runTask(client, model, taskId))),
      replay: (runs, environment, lanes) =>
        serving(environment, (client) => inParallel(runs, lanes, (run) => replayRun(client, run))),
    });
  } finally {
    await database.close();
    await rm(directory, { recursive: true, force: true });
  }
}

type Client = (method: 'GET' | 'POST', path: string, body?: object) => Promise<unknown>;

function createClient(url: string, key: string): Client {
  return async (method, path, body) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        prefer: `wait=${WAIT_SECONDS}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_LIMIT_MS),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return JSON.parse(text);
  };
}

async function runTask(client: Client, model: string, taskId: string): Promise<TaskRun> {
  const body = { env_name: 'retail', scenario_name: 'task', scenario_args: { task_id: taskId }, model };
  const { trace_id: traceId, status, reward } = runSchema.parse(await client('POST', '/v1/agent/run', body));
  return { taskId, traceId, status, reward: reward ?? null };
}

async function replayRun(client: Client, { taskId, traceId }: TaskRun): Promise<ReplayedRun> {
  const { trace_id: id } = runSchema.parse(await client('POST', `/v1/traces/${traceId}/replay`));
  const { steps, replay } = traceSchema.parse(await client('GET', `/v1/traces/${id}?wait=${WAIT_SECONDS}`));
  if (replay === null) throw new Error(`The run of task ${taskId} could not be replayed`);
  const { identical, difference } = replay;
  const place =
    difference?.step == null ? undefined : steps[difference.step - 1]?.tool_results[(difference.call ?? 1) - 1];
  return {
    taskId,
    tools: steps.flatMap((step) => step.tool_results.map(({ name }) => name)),
    isIdentical: identical,
    differsAt: difference === null ? undefined : (place?.name ?? difference.at),
  };
}
