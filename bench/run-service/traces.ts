import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { createModels } from '../../src/models/gateway/create-model.ts';
import { startRunService } from '../../src/service/runs/start.ts';
import { createAccounts } from '../../src/store/accounts/database-accounts.ts';
import type { Database } from '../../src/store/database/database.ts';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { createDatabaseQueue } from '../../src/store/queue/database-queue.ts';
import { createTraceStore } from '../../src/store/traces/database-store.ts';
import type { TraceQuery, TraceStore } from '../../src/store/traces/trace-store.ts';
import { startPostgres } from '../../test/postgres.ts';
import { generateTraces } from './generate-traces.ts';
import { listCases, summaryCases, usageCases } from './traces-cases.ts';
import { lastPage, tenthPage } from './traces-pages.ts';
import { MAIN_ACCOUNT } from './traces-plan.ts';

/** The size; less of it for a look: `BENCH_TRACES=50000 npm run bench -- traces`. */
const COUNT = Number(process.env.BENCH_TRACES ?? 1_000_000);
/** Databases that were filled before, instead of new ones: the addresses of both. */
const FILLED = { sqlite: process.env.BENCH_TRACES_SQLITE, postgres: process.env.BENCH_TRACES_POSTGRES };
/** `sqlite` or `postgres`: that one alone. */
const ONLY = process.env.BENCH_TRACES_ON;
const TARGET_MS = { page: 20, summary: 600 } as const;
const REPETITIONS = Number(process.env.BENCH_REPETITIONS ?? 11);
const WARM_UPS = 2;

/**
 * Pages of 50 out of a million traces for each single filter and each sort, the first, the tenth and the last one, and
 * the sums over them, through the store and over HTTP. The floor is a read of 50 rows by their key, in the same run.
 */
export async function run(): Promise<void> {
  if (ONLY !== 'postgres') await onSqlite(async (database) => await report('SQLite', database));
  if (ONLY !== 'sqlite') await onPostgres(async (database) => await report('Postgres', database));
}

async function onSqlite(use: (database: Database) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-traces-'));
  try {
    await withDatabase(FILLED.sqlite, async () => `sqlite:${join(folder, 'traces.db')}`, use);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function onPostgres(use: (database: Database) => Promise<void>): Promise<void> {
  if (FILLED.postgres !== undefined) return await withDatabase(FILLED.postgres, undefined, use);
  const server = await startPostgres();
  try {
    await withDatabase(undefined, () => server.createDatabase(), use);
  } finally {
    await server.close();
  }
}

async function withDatabase(
  filled: string | undefined,
  create: (() => Promise<string>) | undefined,
  use: (database: Database) => Promise<void>,
): Promise<void> {
  const database = await openDatabase(filled ?? (await create?.()) ?? '');
  try {
    if (filled === undefined) await generateTraces(database, { count: COUNT });
    await use(database);
  } finally {
    await database.close();
  }
}

async function report(name: string, database: Database): Promise<void> {
  const store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' });
  const missed: string[] = [];
  const row = async (label: string, targetMs: number, measured: readonly (Repeated | undefined)[]) => {
    const times = await measureEach(measured);
    console.log(`| ${[label, ...times.map(toCell)].join(' | ')} |`);
    if (times.some((each) => each !== undefined && each.medianMs >= targetMs)) missed.push(label);
  };

  console.log(`\n${name}: median / worst of ${REPETITIONS}, ms\n`);
  console.log('| a page of 50 | first | tenth | last |\n|---|--:|--:|--:|');
  const newest = (await store.list({ account: MAIN_ACCOUNT })).data.map(({ trace_id }) => trace_id);
  await row('*floor: 50 rows by their key*', TARGET_MS.page, [() => readByKey(database, newest)]);
  for (const [label, query] of listCases(await rareCommit(database))) {
    const full: TraceQuery = { account: MAIN_ACCOUNT, ...query };
    const tenth = await tenthPage(store, full);
    const last = await lastPage(store, full);
    const list = (each: TraceQuery | undefined) => each && (() => store.list(each));
    await row(label, TARGET_MS.page, [list(full), list(tenth), list(last)]);
  }
  console.log('\n| sums | ms |\n|---|--:|');
  for (const [label, filters] of summaryCases(await rareCommit(database))) {
    await row(`summary, ${label}`, TARGET_MS.summary, [() => store.summary({ account: MAIN_ACCOUNT, ...filters })]);
  }
  for (const [label, query] of usageCases()) {
    await row(`usage, ${label}`, TARGET_MS.summary, [() => store.usage({ account: MAIN_ACCOUNT, ...query })]);
  }
  console.log('\n| over HTTP | ms |\n|---|--:|');
  await overHttp(database, store, async (path, get) => {
    await row(`\`${path}\``, path.includes('summary') ? TARGET_MS.summary : TARGET_MS.page, [() => get(path)]);
  });
  console.log(missed.length === 0 ? '\nEvery row is within its target.' : `\nMissed: ${missed.join('; ')}`);
}

type Repeated = () => Promise<unknown>;

interface Times {
  readonly medianMs: number;
  readonly worstMs: number;
}

/** One after the other: they share the connections, and SQLite the thread. */
async function measureEach(measured: readonly (Repeated | undefined)[]): Promise<(Times | undefined)[]> {
  const times: (Times | undefined)[] = [];
  for (const each of measured) times.push(each === undefined ? undefined : await measure(each));
  return times;
}

async function measure(repeated: Repeated): Promise<Times> {
  const took: number[] = [];
  for (let round = -WARM_UPS; round < REPETITIONS; round++) {
    const start = performance.now();
    await repeated();
    if (round >= 0) took.push(performance.now() - start);
  }
  took.sort((one, other) => one - other);
  return { medianMs: took[Math.floor(took.length / 2)] ?? Number.NaN, worstMs: took.at(-1) ?? Number.NaN };
}

function toCell(times: Times | undefined): string {
  return times === undefined ? '' : `${times.medianMs.toFixed(1)} / ${times.worstMs.toFixed(1)}`;
}

async function readByKey({ kysely }: Database, traceIds: readonly string[]): Promise<unknown> {
  return await kysely.selectFrom('traces').select(['trace_id', 'summary']).where('trace_id', 'in', traceIds).execute();
}

/** The metadata of few: a commit out of the middle. */
async function rareCommit({ kysely }: Database): Promise<string> {
  const row = await kysely
    .selectFrom('trace_metadata')
    .select('value')
    .where('key', '=', 'commit')
    .where('account', '=', MAIN_ACCOUNT)
    .limit(1)
    .executeTakeFirstOrThrow();
  return row.value;
}

async function overHttp(
  database: Database,
  store: TraceStore,
  each: (path: string, get: (path: string) => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const accounts = createAccounts(database);
  const { id, key } = await accounts.createKey({ name: `bench-${Date.now()}` });
  const service = await startRunService({
    environments: new Map(),
    database,
    store,
    queue: createDatabaseQueue(database),
    accounts,
    models: createModels({}),
    host: '127.0.0.1',
    port: 0,
    appUrl: 'http://127.0.0.1:8320',
    logger: pino({ level: 'silent' }),
    worker: false,
  });
  const get = async (path: string) => {
    const reply = await fetch(`${service.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
    if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`);
    return await reply.json();
  };
  try {
    for (const path of ['/v1/traces', '/v1/traces?env_name=retail&sort=reward', '/v1/traces/summary']) {
      await each(path, get);
    }
  } finally {
    await service.close();
    await accounts.revokeKey(id);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await run();
