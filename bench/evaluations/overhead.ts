import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createEvaluationStore } from '../../src/evaluation/evaluations/database-evaluation-store.ts';
import { createTaskset } from '../../src/evaluation/tasks/taskset.ts';
import type { Database } from '../../src/store/database/database.ts';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { createDatabaseQueue } from '../../src/store/queue/database-queue.ts';
import { createTraceStore } from '../../src/store/traces/database-store.ts';
import { start } from '../child.ts';
import { median } from '../mcp/load.ts';
import { openStores, type StoreName, type Stores } from '../run-service/stores.ts';

const ATTEMPTS = Number(process.env.BENCH_ATTEMPTS ?? 2_000);
const CONCURRENCY = 64;
const ROUNDS = Number(process.env.BENCH_REPETITIONS ?? 3);
const TARGET = 1.1;
const ENDS_WITHIN_MS = 300_000;
const STORES: readonly StoreName[] = ['SQLite', 'Postgres'];

interface Cost {
  readonly ms: number;
  /** Processor time of the worker, which other work on the machine does not add to. */
  readonly cpuMs: number;
}

/**
 * An evaluation beside the same runs without one: `counter` in hosts, played by its solution, in one worker. Both are asked
 * for from outside when the worker is ready, and timed from there.
 */
export async function run(): Promise<void> {
  console.log(`\n${ATTEMPTS} runs of counter in hosts, ${CONCURRENCY} at once, medians of ${ROUNDS}`);
  console.log('| | bare runs, s | evaluation, s | × | target | processor time of the worker, ms a run | × |');
  console.log('|---|--:|--:|--:|--:|--:|--:|');
  const stores = await openStores();
  try {
    for (const name of STORES) await report(name, stores);
  } finally {
    await stores.close();
  }
}

async function report(name: StoreName, stores: Stores): Promise<void> {
  const bare: Cost[] = [];
  const evaluated: Cost[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    bare.push(await time(name, stores, createRuns));
    evaluated.push(await time(name, stores, createAttempts));
  }
  const ms = ratioOf(evaluated, bare, (cost) => cost.ms);
  const cpu = ratioOf(evaluated, bare, (cost) => cost.cpuMs);
  const perRun = [cpu.of, cpu.to].map((each) => (each / ATTEMPTS).toFixed(2)).join(', ');
  console.log(
    `| ${name} | ${(ms.to / 1_000).toFixed(2)} | ${(ms.of / 1_000).toFixed(2)} | ${ms.ratio.toFixed(2)} | ${TARGET} ` +
      `${ms.ratio <= TARGET ? 'met' : 'NOT met'} | ${perRun} | ${cpu.ratio.toFixed(2)} |`,
  );
}

function ratioOf(of: readonly Cost[], to: readonly Cost[], value: (cost: Cost) => number) {
  const [a, b] = [median(of.map(value)), median(to.map(value))];
  return { of: a, to: b, ratio: a / b };
}

async function time(name: StoreName, stores: Stores, create: (database: Database) => Promise<void>): Promise<Cost> {
  const { databaseUrl } = await stores.create(name);
  const database = await openDatabase(databaseUrl);
  const worker = await start(new URL('../run-service/servers/service.mjs', import.meta.url), {
    BENCH_ROLE: 'worker',
    BENCH_DATABASE_URL: databaseUrl,
    BENCH_QUEUE_URL: '',
    BENCH_CONCURRENCY: String(CONCURRENCY),
    BENCH_ISOLATION: 'hosts',
  });
  try {
    worker.go();
    await sleep(500); // The worker has looked at an empty queue.
    const cpuBefore = await worker.cpuMs();
    const startedAt = performance.now();
    await create(database);
    while ((await countEnded(database)) < ATTEMPTS) {
      if (performance.now() - startedAt > ENDS_WITHIN_MS) throw new Error('The runs did not end');
      await sleep(50);
    }
    return { ms: performance.now() - startedAt, cpuMs: (await worker.cpuMs()) - cpuBefore };
  } finally {
    await worker.stop();
    await database.close();
  }
}

async function countEnded(database: Database): Promise<number> {
  const { count } = await database.kysely
    .selectFrom('outcomes')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

const TASK = { env: 'counter', scenario: 'count_to', args: { target: 3 } };

async function createRuns(database: Database): Promise<void> {
  const store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' });
  const queue = createDatabaseQueue(database);
  const queued = {
    origin: 'run',
    env_name: TASK.env,
    scenario_name: TASK.scenario,
    scenario_args: TASK.args,
    model: 'proctor/oracle',
    max_steps: 100,
    timeout_seconds: 3_600,
    seed: null,
    sampling: {},
    metadata: {},
    priority: 0,
  } as const;
  await Promise.all(
    Array.from({ length: ATTEMPTS }, () => {
      const traceId = randomBytes(16).toString('hex');
      return store.create({ traceId, account: 'local', queued }, (transaction) =>
        queue.enqueue({ traceId, priority: 0, envName: TASK.env, keyId: null }, transaction),
      );
    }),
  );
}

async function createAttempts(database: Database): Promise<void> {
  const store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' });
  const evaluations = createEvaluationStore({
    database,
    store,
    queue: createDatabaseQueue(database),
    canPrice: () => true,
    appUrl: 'http://127.0.0.1:8320',
  });
  const task = { ...TASK, split: null, tags: [], held_out: false };
  const tasks = Array.from({ length: ATTEMPTS / 4 }, (_, index) => ({
    ...task,
    id: `task-${index}`,
    cluster: `task-${index}`,
  }));
  await evaluations.create({
    account: 'local',
    keyId: null,
    name: null,
    taskset: createTaskset(null, tasks),
    models: ['proctor/oracle'],
    attempts: 4,
    maxSteps: null,
    timeoutSeconds: null,
    sampling: {},
    seed: null,
    concurrency: CONCURRENCY,
    passThreshold: 1,
    metadata: {},
  });
}
