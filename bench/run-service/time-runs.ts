import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../src/contract/json.ts';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { openQueue } from '../../src/store/queue/open-queue.ts';
import { createTraceStore } from '../../src/store/traces/database-store.ts';
import { type Child, start } from '../child.ts';
import { countUnfinished } from './count-unfinished.ts';
import type { StoreName, Stores } from './stores.ts';

export const RUNS = Number(process.env.BENCH_RUNS ?? 3_000);
export const CONCURRENCY = Number(process.env.BENCH_CONCURRENCY ?? 64);
const TICK_MS = 10;
const ENDS_WITHIN_MS = 240_000;

/** Played by its solution. */
export interface Play {
  readonly environment: 'counter' | 'retail';
  readonly scenario: string;
  readonly args: JsonObject;
}

export const COUNTER: Play = { environment: 'counter', scenario: 'count_to', args: { target: 3 } };
export const RETAIL: Play = { environment: 'retail', scenario: 'task', args: { task_id: '1' } };

export interface Measured {
  readonly perSecond: number;
  /** Milliseconds of processor time for a run. */
  readonly workerMs: number;
  readonly hostsMs: number;
}

/** Brings runs to their end in one worker, all of which are in the queue before it begins. `memory` or `hosts`. */
export async function timeRuns(play: Play, isolation: string, name: StoreName, stores: Stores): Promise<Measured> {
  const { databaseUrl, queueUrl } = await stores.create(name);
  const database = await openDatabase(databaseUrl);
  const store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' });
  const queue = await openQueue(queueUrl || undefined, database);
  let worker: Child | undefined;
  try {
    await Promise.all(
      Array.from({ length: RUNS }, () => {
        const traceId = randomBytes(16).toString('hex');
        return store.create({ traceId, account: 'local', queued: toRequest(play) }, (transaction) =>
          queue.enqueue({ traceId, priority: 0, envName: play.environment, keyId: null }, transaction),
        );
      }),
    );
    worker = await start(new URL('./servers/service.mjs', import.meta.url), {
      BENCH_ROLE: 'worker',
      BENCH_DATABASE_URL: databaseUrl,
      BENCH_QUEUE_URL: queueUrl,
      BENCH_CONCURRENCY: String(CONCURRENCY),
      BENCH_ISOLATION: isolation,
    });
    const before = await worker.cpuMs();
    const startedAt = performance.now();
    worker.go();
    while ((await countUnfinished(database)) > 0) {
      if (performance.now() - startedAt > ENDS_WITHIN_MS) throw new Error('The runs did not end');
      await sleep(20);
    }
    const perSecond = RUNS / ((performance.now() - startedAt) / 1_000);
    const hostsMs = childrenCpuMs(worker.pid) / RUNS;
    const workerMs = ((await worker.cpuMs()) - before) / RUNS;
    const row = await database.kysely
      .selectFrom('traces')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('reward', '=', 1)
      .executeTakeFirstOrThrow();
    if (Number(row.count) !== RUNS) throw new Error(`${RUNS - Number(row.count)} runs have another reward than 1`);
    return { perSecond, workerMs, hostsMs };
  } finally {
    await worker?.stop();
    await queue.close();
    await database.close();
  }
}

/** Processor time of the processes that a process has started and that still run. */
function childrenCpuMs(pid: number): number {
  let ticks = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (Number(fields[1]) === pid) ticks += Number(fields[11]) + Number(fields[12]);
    } catch {
      // It ended meanwhile.
    }
  }
  return ticks * TICK_MS;
}

function toRequest({ environment, scenario, args }: Play) {
  return {
    origin: 'run',
    env_name: environment,
    scenario_name: scenario,
    scenario_args: args,
    model: 'proctor/oracle',
    max_steps: 100,
    timeout_seconds: 3_600,
    seed: null,
    sampling: {},
    metadata: {},
    priority: 0,
  } as const;
}
