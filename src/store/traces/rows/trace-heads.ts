import type { Kysely } from 'kysely';
import { isEnded } from '../../../contract/service/ended.ts';
import type { DatabaseTransaction } from '../../database/database.ts';
import type { DatabaseSchema } from '../../database/tables/schema.ts';
import { lastSeq } from './trace-rows.ts';

/** The state of a trace that an append is checked against and numbered after. */
export interface TraceHead {
  readonly attempt: number;
  readonly status: string;
  /** The sequence number of its last event. */
  readonly lastSeq: number;
}

/** Number of traces in the cache. The least recently used is dropped first. */
const MAX_REMEMBERED = 10_000;

/**
 * Cached heads of unfinished traces. One may be outdated, because other processes write too. The error of a number that
 * is already taken shows that.
 */
export class TraceHeads {
  readonly #heads = new Map<string, TraceHead>();

  get(traceId: string): TraceHead | undefined {
    return this.#heads.get(traceId);
  }

  /** Call it only after the commit. */
  remember(traceId: string, head: TraceHead): void {
    this.#heads.delete(traceId); // Deleting and setting it again moves it to the end, as the most recently used.
    if (isEnded(head.status)) return;
    this.#heads.set(traceId, head);
    if (this.#heads.size > MAX_REMEMBERED) this.forget(this.#heads.keys().next().value ?? '');
  }

  forget(traceId: string): void {
    this.#heads.delete(traceId);
  }
}

/**
 * Locks a trace against all other writers, including writers of events: an event has a foreign key to its trace's row,
 * which blocks while the row is locked. Without the lock a fast writer could take every number first.
 */
export async function lockTraceAndEvents(transaction: DatabaseTransaction, traceId: string): Promise<void> {
  await transaction.selectFrom('traces').select('trace_id').where('trace_id', '=', traceId).forUpdate().execute();
}

/** The state of the trace in the database; undefined when it does not exist. */
export async function readHead(queries: Kysely<DatabaseSchema>, traceId: string): Promise<TraceHead | undefined> {
  return await queries
    .selectFrom('traces')
    .select(['attempt', 'status'])
    .select((traces) => lastSeq(traces).as('lastSeq'))
    .where('trace_id', '=', traceId)
    .executeTakeFirst();
}
