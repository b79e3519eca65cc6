import type { Kysely } from 'kysely';
import type { DatabaseTransaction } from '../database/database.ts';
import type { DatabaseSchema } from '../database/schema.ts';
import { lastSeq, UNFINISHED } from './trace-rows.ts';

/** Where a trace stands: what an append is checked against, and numbered after. */
export interface TraceHead {
  readonly attempt: number;
  readonly status: string;
  /** The sequence number of its last event. */
  readonly lastSeq: number;
}

/** Traces whose head is remembered; the least recently used goes first. */
const MAX_REMEMBERED = 10_000;

/**
 * Heads of unfinished traces, as this process last saw them. One may be out of date, since other processes write too:
 * that is found out when the number that it gives to an event is taken.
 */
export class TraceHeads {
  readonly #heads = new Map<string, TraceHead>();

  get(traceId: string): TraceHead | undefined {
    return this.#heads.get(traceId);
  }

  /** To be told after the commit alone. */
  remember(traceId: string, head: TraceHead): void {
    this.#heads.delete(traceId); // to the end: most recently used
    if (isFinal(head)) return;
    this.#heads.set(traceId, head);
    if (this.#heads.size > MAX_REMEMBERED) this.forget(this.#heads.keys().next().value ?? '');
  }

  forget(traceId: string): void {
    this.#heads.delete(traceId);
  }
}

/**
 * Has whoever changes this trace's row or writes events of it wait: an event refers to its trace's row, which nobody can
 * do to a row that is locked for an update. Without it a writer that is fast enough takes every number first.
 */
export async function lockTraceAndEvents(transaction: DatabaseTransaction, traceId: string): Promise<void> {
  await transaction.selectFrom('traces').select('trace_id').where('trace_id', '=', traceId).forUpdate().execute();
}

/** Where the trace stands in the database; undefined where there is none. */
export async function readHead(queries: Kysely<DatabaseSchema>, traceId: string): Promise<TraceHead | undefined> {
  return await queries
    .selectFrom('traces')
    .select(['attempt', 'status'])
    .select((traces) => lastSeq(traces).as('lastSeq'))
    .where('trace_id', '=', traceId)
    .executeTakeFirst();
}

/** True for the states that a run does not leave. */
export function isFinal({ status }: Pick<TraceHead, 'status'>): boolean {
  return !UNFINISHED.some((unfinished) => unfinished === status);
}
