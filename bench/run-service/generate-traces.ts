import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';

import type { Database } from '../../src/store/database/database.ts';
import { openDatabase } from '../../src/store/database/open-database.ts';
import type { DatabaseSchema } from '../../src/store/database/tables/schema.ts';
import { toOutcomeRow } from '../../src/store/traces/rows/outcome-rows.ts';
import { TraceProjection } from '../../src/store/traces/rows/projection.ts';
import { toFinishedColumns, toMetadataRows, toTracesRow } from '../../src/store/traces/rows/trace-rows.ts';
import { type PlannedTrace, planTraces, toEvents } from './traces-plan.ts';

export interface GenerateOptions {
  readonly count: number;
  /** The same traces for the same seed. Default 1. */
  readonly seed?: number;
  /** When the newest was created, milliseconds since 1970. Default the end of June 2026. */
  readonly endsAt?: number;
  /** Of the newest, those whose events are written too, so that their pages can be opened. Default 200; unfinished ones have theirs always. */
  readonly withEvents?: number;
  /** Where traces are shown, without a slash at the end. */
  readonly appUrl?: string;
  readonly onProgress?: (written: number) => void;
}

/** Traces that are written in one transaction. */
const BATCH = 1_000;
const TABLES = ['traces', 'trace_metadata', 'outcomes', 'events'] as const;

/**
 * Fills an empty database with made-up traces, with all that their runs would have left there, but for the events of most:
 * those would be some gigabytes. Rows are made by the code that makes the real ones.
 */
export async function generateTraces(database: Database, options: GenerateOptions): Promise<void> {
  const { count, seed = 1, endsAt = Date.parse('2026-06-30T12:00:00Z'), withEvents = 200 } = options;
  const indexes = await dropIndexes(database);
  let batch: Batch = newBatch();
  let index = 0;
  for (const plan of planTraces({ count, seed, endsAt })) {
    addTrace(batch, plan, {
      hasEvents: count - index <= withEvents,
      appUrl: options.appUrl ?? 'http://127.0.0.1:8320',
    });
    index += 1;
    if (index % BATCH !== 0 && index !== count) continue;
    await writeBatch(database, batch);
    batch = newBatch();
    options.onProgress?.(index);
  }
  for (const create of indexes) await sql.raw(create).execute(database.kysely);
  // What Postgres does by itself a minute later: figures for its planner, and which pages are visible to all.
  if (database.kind === 'postgres') await sql`vacuum analyze`.execute(database.kysely);
}

type Batch = { readonly [Table in (typeof TABLES)[number]]: Record<string, unknown>[] };

function newBatch(): Batch {
  return { traces: [], trace_metadata: [], outcomes: [], events: [] };
}

interface AddOptions {
  readonly hasEvents: boolean;
  readonly appUrl: string;
}

function addTrace(batch: Batch, plan: PlannedTrace, { hasEvents, appUrl }: AddOptions): void {
  const { traceId, account, keyId, createdAt, queued, end } = plan;
  const request = { type: 'run.queued' as const, ...queued, previous_end: null };
  const row = { traceId, account, keyId, createdAt, request, shown: request };
  const events = toEvents(plan);
  const isFinished = end !== 'queued' && end !== 'running';
  const projection = new TraceProjection({ traceId, traceUrl: `${appUrl}/traces/${traceId}` });
  for (const event of events) projection.add(event);
  const trace = projection.toTrace();
  const finishedAt = Date.parse(trace.finished_at ?? '');
  const unfinished = { reward: null, finished_at: null, duration_ms: null, total_tokens: null, summary: null };
  batch.traces.push({
    ...toTracesRow(row),
    ...unfinished,
    status: trace.status,
    ...(isFinished ? toFinishedColumns(trace, finishedAt) : {}),
  });
  batch.trace_metadata.push(...toMetadataRows(row));
  if (isFinished) {
    const owner = { account, key_id: keyId, created_at: createdAt };
    batch.outcomes.push({ ...toOutcomeRow(owner, trace, projection.toUsed()) });
  }
  if (isFinished && !hasEvents) return;
  for (const { seq, at, attempt, ...body } of events) {
    const stored = { trace_id: traceId, seq, attempt, at: Date.parse(at), type: body.type, body: JSON.stringify(body) };
    batch.events.push(stored);
  }
}

async function writeBatch(database: Database, batch: Batch): Promise<void> {
  await database.transaction(async (transaction) => {
    for (const table of TABLES) {
      const [first] = batch[table];
      if (first === undefined) continue;
      const columns = Object.keys(first);
      const insert = database.kysely.insertInto(table).values(first as never); // The columns are those of its rows.
      const rows = batch[table].map((row) => columns.map((column) => row[column]));
      await database.runEach([{ statement: insert.compile(), rows }], { transaction });
    }
  });
}

/** To be made again when the rows are there, which is many times faster. @returns the statements that do it. */
async function dropIndexes({ kind, kysely }: Database): Promise<string[]> {
  const tables: readonly (keyof DatabaseSchema)[] = TABLES;
  const { rows } =
    kind === 'sqlite'
      ? await sql<{ name: string; statement: string }>`
          select name, sql as statement from sqlite_master
          where type = 'index' and sql is not null and tbl_name in (${sql.join(tables)})`.execute(kysely)
      : await sql<{ name: string; statement: string }>`
          select indexname as name, indexdef as statement from pg_indexes
          where schemaname = current_schema() and tablename in (${sql.join(tables)})
            and indexname not in (select conname from pg_constraint)`.execute(kysely);
  for (const { name } of rows) await sql`drop index ${sql.ref(name)}`.execute(kysely);
  return rows.map(({ statement }) => statement);
}

/** `tsx bench/run-service/generate-traces.ts sqlite:<path> [count]`: for a look at the pages. */
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [address = 'sqlite:.proctor/million.db', count = '1000000'] = process.argv.slice(2);
  const database = await openDatabase(address);
  try {
    await generateTraces(database, { count: Number(count), onProgress: (written) => console.log(written) });
  } finally {
    await database.close();
  }
}
