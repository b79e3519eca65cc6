import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../src/contract/json.ts';
import { openDatabase } from '../../src/database/open-database.ts';
import { openQueue } from '../../src/queue/open-queue.ts';
import { createTraceStore } from '../../src/trace/database-store.ts';
import { type Child, start } from '../child.ts';
import { median } from '../mcp/load.ts';
import { countUnfinished } from './count-unfinished.ts';
import { openStores, type StoreName, type Stores } from './stores.ts';

const ROUNDS = Number(process.env.BENCH_REPETITIONS ?? 3);
const RUNS = Number(process.env.BENCH_RUNS ?? 3_000);
const CONCURRENCY = Number(process.env.BENCH_CONCURRENCY ?? 64);
const TARGET = 0.6;
const TICK_MS = 10;
const ENDS_WITHIN_MS = 240_000;

interface Play {
  readonly environment: 'counter' | 'retail';
  readonly scenario: string;
  readonly args: JsonObject;
}

const PLAYS: readonly Play[] = [
  { environment: 'counter', scenario: 'count_to', args: { target: 3 } },
  { environment: 'retail', scenario: 'task', args: { task_id: '1' } },
];

interface Measured {
  readonly perSecond: number;
  /** Milliseconds of processor time for a run. */
  readonly workerMs: number;
  readonly hostsMs: number;
}

/**
 * Complete runs in shared processes beside the same runs in memory: one worker, the solution plays, every event durable.
 * The two take turns. `BENCH_ENVIRONMENTS=retail` and `BENCH_STORE=Postgres` for others.
 */
export async function run(): Promise<void> {
  const named = process.env.BENCH_ENVIRONMENTS?.split(',');
  const store = (process.env.BENCH_STORE ?? 'SQLite') as StoreName;
  const stores = await openStores();
  console.log(
    `\n${RUNS} runs on ${store}, ${CONCURRENCY} at once in one worker, medians of ${ROUNDS} alternating rounds`,
  );
  console.log('| | in memory/s | ms of processor | in hosts/s | ms, worker | ms, hosts | beside memory | target |');
  console.log('|---|--:|--:|--:|--:|--:|--:|---|');
  try {
    for (const play of PLAYS.filter(({ environment }) => named?.includes(environment) ?? true)) {
      const rounds: { readonly memory: Measured; readonly hosts: Measured }[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        rounds.push({
          memory: await time(play, 'memory', store, stores),
          hosts: await time(play, 'hosts', store, stores),
        });
      }
      print(play, rounds);
    }
  } finally {
    await stores.close();
  }
}

function print(
  { environment }: Play,
  rounds: readonly { readonly memory: Measured; readonly hosts: Measured }[],
): void {
  const of = (read: (round: { memory: Measured; hosts: Measured }) => number) => median(rounds.map(read));
  const ratio = of(({ memory, hosts }) => hosts.perSecond / memory.perSecond);
  const cells = [
    environment,
    of(({ memory }) => memory.perSecond).toFixed(0),
    of(({ memory }) => memory.workerMs).toFixed(2),
    of(({ hosts }) => hosts.perSecond).toFixed(0),
    of(({ hosts }) => hosts.workerMs).toFixed(2),
    of(({ hosts }) => hosts.hostsMs).toFixed(2),
    `× ${ratio.toFixed(2)}`,
    `${TARGET}: ${ratio >= TARGET ? 'met' : 'NOT met'}`,
  ];
  console.log(`| ${cells.join(' | ')} |`);
}

async function time(play: Play, isolation: string, name: StoreName, stores: Stores): Promise<Measured> {
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
