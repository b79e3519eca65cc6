import { sql } from 'kysely';
import { expect } from 'vitest';
import type { TraceEvent } from '../../src/contract/service/event.ts';
import type { Trace } from '../../src/contract/service/trace.ts';
import type { Database } from '../../src/store/database/database.ts';
import type { RunQueue } from '../../src/store/queue/run-queue.ts';
import type { TraceStore } from '../../src/store/traces/trace-store.ts';
import { until } from '../until.ts';
import type { MarkedProcess } from './marked-processes.ts';

/** Of one run (contract section 3, "Durability"). */
const MAX_ATTEMPTS = 3;
/** A lease, and the worker's look at the queue. */
const QUEUE_EMPTY_WITHIN_MS = 60_000;
const PROCESSES_END_WITHIN_MS = 30_000;
/** Traces that are read at once. */
const READERS = 8;

export interface Aftermath {
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  /** Every run that a client was told of. */
  readonly accepted: readonly string[];
  /** How long the last run may take. */
  readonly withinMs: number;
  /** Stops what still works, in order. */
  stop(): Promise<void>;
  /** Those of servers, workers, environments and of what environments start. */
  processes(): readonly MarkedProcess[];
}

export interface Ending {
  readonly status: Trace['status'];
  readonly attempts: number;
  /** Why it failed. */
  readonly error: Trace['error'];
}

/**
 * What has to hold after any fault: every accepted run, and no other, has exactly one final state; its events are in order without
 * gap; its attempts fit together; the queue is empty; no process is left; the database is whole.
 *
 * @returns the end of each run.
 */
export async function expectNothingLost(aftermath: Aftermath): Promise<ReadonlyMap<string, Ending>> {
  const { database, store, queue, accepted, withinMs } = aftermath;
  await until(async () => expect(await unfinished(database)).toEqual([]), { withinMs });
  // Each with one idempotency key, however often it was sent: there is not one more either.
  const rows = await database.kysely.selectFrom('traces').select('trace_id').execute();
  expect(rows.map(({ trace_id }) => trace_id).sort()).toEqual([...accepted].sort());

  const endings = new Map<string, Ending>();
  const waiting = [...accepted];
  const read = async () => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) endings.set(id, await expectWhole(store, id));
  };
  await Promise.all(Array.from({ length: READERS }, read));
  const outcomes = await database.kysely.selectFrom('outcomes').select(['trace_id', 'status']).execute();
  expect(outcomes.map(({ trace_id, status }) => [trace_id, status]).sort()).toEqual(
    [...endings].map(([id, { status }]) => [id, status]).sort(),
  );

  // What died between the end of a run and that of its entry is cleaned up by whoever gets that next.
  const isEmpty = async () => expect(await queue.counts()).toEqual({ waiting: 0, leased: 0 });
  await until(isEmpty, { withinMs: QUEUE_EMPTY_WITHIN_MS });
  await aftermath.stop();
  await isEmpty();
  expect(await database.kysely.selectFrom('queue').selectAll().execute()).toEqual([]);
  await until(() => expect(aftermath.processes()).toEqual([]), { withinMs: PROCESSES_END_WITHIN_MS });
  if (database.kind === 'sqlite') {
    const { rows: found } = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(database.kysely);
    expect(found).toEqual([{ integrity_check: 'ok' }]);
  }
  return endings;
}

/** Those of the runs that have no final state. */
export async function withoutEnd(database: Database, accepted: readonly string[]): Promise<readonly string[]> {
  const rows = await database.kysely.selectFrom('traces').select(['trace_id', 'status']).execute();
  const ended = new Set(rows.filter(({ status }) => !/queued|running/.test(status)).map(({ trace_id }) => trace_id));
  return accepted.filter((id) => !ended.has(id));
}

/** A few of them: there may be thousands, which are asked for many times. */
async function unfinished(database: Database): Promise<readonly unknown[]> {
  return await database.kysely
    .selectFrom('traces')
    .select(['trace_id', 'status', 'attempt'])
    .where('status', 'in', ['queued', 'running'])
    .limit(5)
    .execute();
}

async function expectWhole(store: TraceStore, traceId: string): Promise<Ending> {
  const [events, trace, row] = [await store.events(traceId), await store.trace(traceId), await store.row(traceId)];
  if (trace === undefined) throw new Error(`The run ${traceId} has no trace`);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.filter(({ type }) => type === 'run.finished')).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ type: 'run.finished', status: trace.status, attempt: trace.attempt });
  expect(row).toMatchObject({ status: trace.status, attempt: trace.attempt });
  if (trace.status === 'completed') expect(trace.reward).not.toBeNull();
  else
    expect([trace.status, trace.error]).toEqual(['failed', expect.objectContaining({ boundary: expect.any(String) })]);
  expectAttempts(trace, events);
  return { status: trace.status, attempts: trace.attempts.length, error: trace.error };
}

/** One after another, each begun by `run.queued` with the end of the one before, and started at most once. */
function expectAttempts({ attempts, attempt, status }: Trace, events: readonly TraceEvent[]): void {
  expect(attempts.map((each) => each.attempt)).toEqual(attempts.map((_, index) => index + 1));
  expect(attempt).toBe(attempts.length);
  const numbers = events.map((event) => event.attempt);
  expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
  const ends = attempts.map(({ end }) => end);
  expect(ends.at(-1)).toBe(status);
  expect(ends.slice(0, -1).filter((end) => end !== 'lost' && end !== 'released')).toEqual([]);
  expect(ends.filter((end) => end === 'lost').length).toBeLessThan(MAX_ATTEMPTS);
  for (const [index, { attempt: number }] of attempts.entries()) {
    const own = events.filter((event) => event.attempt === number);
    expect(own[0]).toMatchObject({ type: 'run.queued', previous_end: ends[index - 1] ?? null });
    expect(own.filter(({ type }) => type === 'run.queued')).toHaveLength(1);
    expect(own.filter(({ type }) => type === 'run.started').length).toBeLessThanOrEqual(1);
  }
}
