import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { compareEvaluations } from '../../src/evaluation/evaluations/report/compare-evaluations.ts';
import { readProgress } from '../../src/evaluation/evaluations/report/read-progress.ts';
import { readReports } from '../../src/evaluation/evaluations/report/read-reports.ts';
import { readTaskRows } from '../../src/evaluation/evaluations/report/read-task-rows.ts';
import type { Database } from '../../src/store/database/database.ts';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { startPostgres } from '../../test/postgres.ts';
import { median } from '../mcp/load.ts';
import { type EvaluationSize, fillEvaluation } from './fill-evaluation.ts';

/** Tasks × models × attempts. `BENCH_EVALUATION=100000x10x1` measures another size alone. */
const SIZES = (process.env.BENCH_EVALUATION ?? '25000x2x2 1000x5x20').split(' ').map(parseSize);
/** `sqlite` or `postgres`: that one alone. */
const ONLY = process.env.BENCH_EVALUATIONS_ON;
const REPETITIONS = Number(process.env.BENCH_REPETITIONS ?? 9);
const WARM_UPS = 2;
const TARGETS = { reportMs: 1_000, memoryMb: 100 } as const;

/**
 * Reports, comparisons and lists of evaluations of 100,000 attempts, on both databases. The floor is the plainest statement
 * that reads every attempt: their number and the sum of their rewards, by model.
 */
export async function run(): Promise<void> {
  if (ONLY !== 'postgres') await onSqlite(async (database) => await report('SQLite', database));
  if (ONLY !== 'sqlite') await onPostgres(async (database) => await report('Postgres', database));
}

async function onSqlite(use: (database: Database) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-evaluations-'));
  try {
    await withDatabase(`sqlite:${join(folder, 'proctor.db')}`, use);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function onPostgres(use: (database: Database) => Promise<void>): Promise<void> {
  const server = await startPostgres();
  try {
    await withDatabase(await server.createDatabase(), use);
  } finally {
    await server.close();
  }
}

async function withDatabase(address: string, use: (database: Database) => Promise<void>): Promise<void> {
  const database = await openDatabase(address);
  try {
    await use(database);
  } finally {
    await database.close();
  }
}

async function report(name: string, database: Database): Promise<void> {
  for (const size of SIZES) {
    const id = await fillEvaluation(database, size);
    const other = await fillEvaluation(database, size);
    const { tasks, models, attempts } = size;
    console.log(
      `\n${name}: ${tasks} tasks × ${models} models × ${attempts} attempts; medians of ${REPETITIONS} alternating rounds\n`,
    );
    const figures = await measureEach({
      '*floor: count and sum by model*': () => countAndSum(database, id),
      reports: () => readReports(database, id),
      'comparison with another one': () => compareEvaluations(database, { a: other, b: id }),
      progress: () => readProgress(database, id),
      '1,000 rows of tasks': () => readTaskRows(database, { evaluationId: id, limit: 1_000 }),
    });
    const floorMs = figures.values().next().value?.ms ?? Number.NaN;
    console.log(
      '| | ms | beside the floor | processor ms | longest pause of the event loop, ms | memory above, MB |\n|---|--:|--:|--:|--:|--:|',
    );
    for (const [label, { ms, cpuMs, pauseMs, memoryMb }] of figures) {
      const beside = `× ${(ms / floorMs).toFixed(1)}`;
      console.log(
        `| ${[label, ms.toFixed(0), beside, cpuMs.toFixed(0), pauseMs.toFixed(0), memoryMb.toFixed(0)].join(' | ')} |`,
      );
    }
    const { ms = Number.NaN, memoryMb = Number.NaN } = figures.get('reports') ?? {};
    const isMet = ms <= TARGETS.reportMs && memoryMb <= TARGETS.memoryMb;
    const target = `reports in ${TARGETS.reportMs} ms with ${TARGETS.memoryMb} MB more`;
    console.log(`\ntarget: ${target}: ${isMet ? 'met' : 'NOT met'}`);
  }
}

interface Figures {
  readonly ms: number;
  /** Of this process; the server of Postgres is another one. */
  readonly cpuMs: number;
  readonly pauseMs: number;
  /** Resident memory, the most that any round ended with above its beginning. */
  readonly memoryMb: number;
}

/** In alternating rounds: what else the machine does meets all alike. */
async function measureEach(measured: Readonly<Record<string, () => Promise<unknown>>>): Promise<Map<string, Figures>> {
  const rounds = new Map(Object.keys(measured).map((label) => [label, [] as Figures[]]));
  for (let round = -WARM_UPS; round < REPETITIONS; round++) {
    for (const [label, repeated] of Object.entries(measured)) {
      const figures = await measureOnce(repeated);
      if (round >= 0) rounds.get(label)?.push(figures);
    }
  }
  return new Map(
    [...rounds].map(([label, all]) => [
      label,
      {
        ms: median(all.map(({ ms }) => ms)),
        cpuMs: median(all.map(({ cpuMs }) => cpuMs)),
        pauseMs: median(all.map(({ pauseMs }) => pauseMs)),
        memoryMb: Math.max(...all.map(({ memoryMb }) => memoryMb)),
      },
    ]),
  );
}

async function measureOnce(repeated: () => Promise<unknown>): Promise<Figures> {
  const pauses = monitorEventLoopDelay({ resolution: 1 });
  const before = process.memoryUsage.rss();
  const used = process.cpuUsage();
  pauses.enable();
  const start = performance.now();
  await repeated();
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(used);
  pauses.disable();
  return {
    ms,
    cpuMs: (user + system) / 1_000,
    pauseMs: pauses.max / 1e6,
    memoryMb: (process.memoryUsage.rss() - before) / 1e6,
  };
}

async function countAndSum({ scans }: Database, evaluationId: string): Promise<unknown> {
  return await sql`
    select model_index, count(*) as attempts, sum(reward) as reward from evaluation_attempts
    where evaluation_id = ${evaluationId} group by model_index`.execute(scans);
}

function parseSize(text: string): EvaluationSize {
  const [tasks = Number.NaN, models = Number.NaN, attempts = Number.NaN] = text.split('x').map(Number);
  const isSize = [tasks, models, attempts].every((each) => Number.isSafeInteger(each) && each > 0);
  if (!isSize) throw new Error(`BENCH_EVALUATION: ${JSON.stringify(text)} is no size such as 25000x2x2`);
  return { tasks, models, attempts };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await run();
