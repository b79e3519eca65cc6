import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../src/store/database/database.ts';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { openQueue } from '../../src/store/queue/open-queue.ts';
import { createTraceStore } from '../../src/store/traces/database-store.ts';
import type { TraceStore } from '../../src/store/traces/trace-store.ts';
import { type Child, start } from '../child.ts';
import { median } from '../mcp/load.ts';
import { type BareQueue, openBareQueue } from './bare-queue.ts';
import { countUnfinished } from './count-unfinished.ts';
import { openStores, type StoreAddress, type StoreName, type Stores } from './stores.ts';

const ROUNDS = Number(process.env.BENCH_REPETITIONS ?? 3);
const WORKERS = [1, 2];
/** Runs of a round, and how many of them one worker has at once. */
const ISOLATIONS = {
  'in memory': { runs: 3_000, concurrency: 8, env: {} },
  'in processes': { runs: 40, concurrency: 2, env: { BENCH_ISOLATION: 'processes' } },
} as const;
type Isolation = keyof typeof ISOLATIONS;

const BARE = { 'bare BullMQ on Postgres': 'Postgres', 'bare BullMQ on Redis': 'Postgres + BullMQ on Redis' } as const;
const TARGETS = { ratio: 0.7, warmStartMs: 20 } as const;
const SAMPLES = 20;
/** Longer than a process of `counter` takes to start, on a machine that has other work. */
const PAUSE_MS = 2_000;
const ENDS_WITHIN_MS = 120_000;

/**
 * Runs of `counter` that are brought to their end each second, played by its solution: beside workers written by hand on
 * BullMQ that make the same connections and MCP calls and keep nothing. Everything is in the queue before the workers,
 * processes of their own, begin. Then how long a run in a process waits for its environment while the pool is warm.
 */
export async function run(): Promise<void> {
  const stores = await openStores();
  try {
    for (const isolation of Object.keys(ISOLATIONS) as Isolation[]) await compare(isolation, stores);
    await reportWarmStarts(await stores.create('SQLite'));
  } finally {
    await stores.close();
  }
}

async function compare(isolation: Isolation, stores: Stores): Promise<void> {
  const { runs, concurrency } = ISOLATIONS[isolation];
  console.log(
    `\nRuns/s of counter ${isolation}: ${runs} runs, ${concurrency} at once in each worker, medians of ${ROUNDS}`,
  );
  console.log('| | 1 worker | 2 workers | beside bare BullMQ on the same server | target | |');
  console.log('|---|--:|--:|---|--:|---|');
  const bare = new Map<string, readonly number[]>();
  for (const [name, store] of Object.entries(BARE)) {
    if (!stores.names.includes(store)) continue;
    const rates = await eachCount((workers) => timeBare(isolation, stores, store, workers));
    bare.set(store.endsWith('Redis') ? 'Redis' : 'Postgres', rates);
    console.log(`| ${name}, nothing kept | ${rates.map((rate) => rate.toFixed(1)).join(' | ')} | | | |`);
  }
  for (const name of stores.names) {
    const rates = await eachCount((workers) => timeOurs(isolation, stores, name, workers));
    const peer = bare.get(name.endsWith('Redis') ? 'Redis' : 'Postgres') ?? [];
    const ratios = rates.map((rate, index) => rate / (peer[index] ?? Number.NaN));
    const isMet = ratios.every((ratio) => ratio >= TARGETS.ratio);
    const shown = ratios.map((ratio) => `× ${ratio.toFixed(2)}`).join(', ');
    console.log(
      `| ${name} | ${rates.map((rate) => rate.toFixed(1)).join(' | ')} | ${shown} | ${TARGETS.ratio} | ${isMet ? 'met' : 'NOT met'} |`,
    );
  }
}

async function eachCount(time: (workers: number) => Promise<number>): Promise<number[]> {
  const rates: number[] = [];
  for (const workers of WORKERS) {
    const rounds: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) rounds.push(await time(workers));
    rates.push(median(rounds));
  }
  return rates;
}

async function timeOurs(isolation: Isolation, stores: Stores, name: StoreName, workers: number): Promise<number> {
  const { runs } = ISOLATIONS[isolation];
  const address = await stores.create(name);
  const database = await openDatabase(address.databaseUrl);
  const store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' });
  try {
    await enqueue(runs, address, database, store);
    return await timeWorkers(isolation, address, 'service.mjs', { workers, left: () => countUnfinished(database) });
  } finally {
    await database.close();
  }
}

async function timeBare(isolation: Isolation, stores: Stores, name: StoreName, workers: number): Promise<number> {
  const { databaseUrl, queueUrl } = await stores.create(name);
  const address = { databaseUrl, queueUrl: queueUrl === '' ? databaseUrl : queueUrl };
  const queue: BareQueue = await openBareQueue(address.queueUrl);
  try {
    await queue.add(ISOLATIONS[isolation].runs, { scenario: 'count_to', args: { target: 3 } });
    return await timeWorkers(isolation, address, 'bare-worker.mjs', { workers, left: () => queue.left() });
  } finally {
    await queue.close();
  }
}

/** Runs a second from the moment in which all workers may begin. */
async function timeWorkers(
  isolation: Isolation,
  address: StoreAddress,
  program: string,
  { workers, left }: { readonly workers: number; left(): Promise<number> },
): Promise<number> {
  const { runs, concurrency, env } = ISOLATIONS[isolation];
  const children: Child[] = [];
  try {
    for (let count = 0; count < workers; count += 1) {
      children.push(await startWorker(program, address, concurrency, env));
    }
    const startedAt = performance.now();
    for (const child of children) child.go();
    while ((await left()) > 0) {
      if (performance.now() - startedAt > ENDS_WITHIN_MS)
        throw new Error(`${await left()} of ${runs} runs did not end`);
      await sleep(20);
    }
    return runs / ((performance.now() - startedAt) / 1_000);
  } finally {
    await Promise.all(children.map((child) => child.stop()));
  }
}

async function startWorker(
  program: string,
  { databaseUrl, queueUrl }: StoreAddress,
  concurrency: number,
  env: Readonly<Record<string, string>>,
): Promise<Child> {
  return await start(new URL(`./servers/${program}`, import.meta.url), {
    BENCH_ROLE: 'worker',
    BENCH_DATABASE_URL: databaseUrl,
    BENCH_QUEUE_URL: queueUrl,
    BENCH_CONCURRENCY: String(concurrency),
    ...env,
  });
}

async function enqueue(count: number, address: StoreAddress, database: Database, store: TraceStore): Promise<string[]> {
  const queue = await openQueue(address.queueUrl || undefined, database);
  const traceIds = Array.from({ length: count }, () => randomBytes(16).toString('hex'));
  await Promise.all(
    traceIds.map((traceId) =>
      store.create({ traceId, account: 'local', queued: REQUEST }, (transaction) =>
        queue.enqueue({ traceId, priority: 0, envName: 'counter', keyId: null }, transaction),
      ),
    ),
  );
  await queue.close();
  return traceIds;
}

/** One run after the other, with a pause in which the next process can start. */
async function reportWarmStarts(address: StoreAddress): Promise<void> {
  const database = await openDatabase(address.databaseUrl);
  const store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' });
  const worker = await startWorker('service.mjs', address, 2, ISOLATIONS['in processes'].env);
  const environmentMs: number[] = [];
  try {
    worker.go();
    for (let sample = -2; sample < SAMPLES; sample += 1) {
      const [traceId = ''] = await enqueue(1, address, database, store);
      while ((await countUnfinished(database)) > 0) await sleep(50);
      const trace = await store.trace(traceId);
      if (sample >= 0) environmentMs.push(trace?.timing.environment_ms ?? Number.NaN);
      await sleep(PAUSE_MS);
    }
  } finally {
    await worker.stop();
    await database.close();
  }
  environmentMs.sort((a, b) => a - b);
  const middle = median(environmentMs);
  const verdict = middle <= TARGETS.warmStartMs ? 'met' : 'NOT met';
  console.log(
    `\nA run in a process from the warm pool waits ${middle} ms for its environment (median of ${SAMPLES}; ` +
      `${environmentMs[0]} to ${environmentMs.at(-1)}); target at most ${TARGETS.warmStartMs}: ${verdict}`,
  );
}

const REQUEST = {
  origin: 'run',
  env_name: 'counter',
  scenario_name: 'count_to',
  scenario_args: { target: 3 },
  model: 'proctor/oracle',
  max_steps: 100,
  timeout_seconds: 3_600,
  seed: null,
  sampling: {},
  metadata: {},
  priority: 0,
} as const;
