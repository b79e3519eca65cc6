import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { openQueue } from '../../src/store/queue/open-queue.ts';
import { createTraceStore } from '../../src/store/traces/database-store.ts';
import { type Child, start } from '../child.ts';
import { countUnfinished } from '../run-service/count-unfinished.ts';
import { openStores, type StoreName, type Stores } from '../run-service/stores.ts';

const RUNS = Number(process.env.BENCH_RUNS ?? 512);
const STEPS = 20;
const STEP_MS = 1_000;
const ENDS_WITHIN_MS = 300_000;
const TARGET = 1.3;
const STORES: readonly StoreName[] = ['SQLite', 'Postgres'];

/**
 * Runs of `counter` that one worker executes all at once in shared processes, against a scripted gateway that takes a
 * second for each of 20 steps: the wall time beside the 20 s that no worker can beat.
 */
export async function run(): Promise<void> {
  console.log(`\n${RUNS} runs at once in one worker, ${STEPS} steps of ${STEP_MS} ms each`);
  console.log('| | s | × the ideal | target | processor time of the worker, ms a run | completed |');
  console.log('|---|--:|--:|--:|--:|--:|');
  const stores = await openStores();
  try {
    for (const name of STORES) await report(name, stores);
  } finally {
    await stores.close();
  }
}

async function report(name: StoreName, stores: Stores): Promise<void> {
  const { databaseUrl } = await stores.create(name);
  const database = await openDatabase(databaseUrl);
  const store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' });
  const queue = await openQueue(undefined, database);
  const children: Child[] = [];
  try {
    const gateway = await start(new URL('../scenario-server/servers/slow-gateway.mjs', import.meta.url));
    children.push(gateway);
    const worker = await start(new URL('../run-service/servers/service.mjs', import.meta.url), {
      BENCH_ROLE: 'worker',
      BENCH_DATABASE_URL: databaseUrl,
      BENCH_QUEUE_URL: '',
      BENCH_CONCURRENCY: String(RUNS),
      BENCH_ISOLATION: 'hosts',
      PROCTOR_GATEWAY_URL: gateway.url,
    });
    children.push(worker);
    for (let from = 0; from < RUNS; from += 100) {
      const count = Math.min(100, RUNS - from);
      await Promise.all(
        Array.from({ length: count }, () => {
          const traceId = randomBytes(16).toString('hex');
          return store.create({ traceId, account: 'local', queued: REQUEST }, (transaction) =>
            queue.enqueue({ traceId, priority: 0, envName: 'counter', keyId: null }, transaction),
          );
        }),
      );
    }
    const cpuBefore = await worker.cpuMs();
    const startedAt = performance.now();
    worker.go();
    while ((await countUnfinished(database)) > 0) {
      if (performance.now() - startedAt > ENDS_WITHIN_MS) throw new Error('The runs did not end');
      await sleep(100);
    }
    const seconds = (performance.now() - startedAt) / 1_000;
    const cpuMs = ((await worker.cpuMs()) - cpuBefore) / RUNS;
    const { completed } = await database.kysely
      .selectFrom('traces')
      .select(({ fn }) => fn.countAll<number>().as('completed'))
      .where('status', '=', 'completed')
      .executeTakeFirstOrThrow();
    const ratio = seconds / ((STEPS * STEP_MS) / 1_000);
    const verdict = ratio <= TARGET ? 'met' : 'NOT met';
    console.log(
      `| ${name} | ${seconds.toFixed(1)} | ${ratio.toFixed(2)} | ${TARGET}: ${verdict} | ${cpuMs.toFixed(0)} | ${completed} |`,
    );
  } finally {
    await Promise.all(children.map((child) => child.stop()));
    await queue.close();
    await database.close();
  }
}

const REQUEST = {
  origin: 'run',
  env_name: 'counter',
  scenario_name: 'count_to',
  scenario_args: { target: STEPS - 1 },
  model: 'slow',
  max_steps: 100,
  timeout_seconds: 3_600,
  seed: null,
  sampling: {},
  metadata: {},
  priority: 0,
} as const;
