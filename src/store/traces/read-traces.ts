import { type Kysely, sql } from 'kysely';
import type { Trace } from '../../contract/service/trace.ts';
import type { DatabaseSchema } from '../database/tables/schema.ts';
import { toTraceEvent } from './rows/event-rows.ts';
import { TraceProjection } from './rows/projection.ts';

/** Number of traces whose sizes are read at once. */
const SIZED_AT_ONCE = 400;
/**
 * Bytes of events that are read at once. A larger trace is read alone. Memory does not depend on the number of traces.
 */
const BYTES_AT_ONCE = 512 * 1_024;

/**
 * Reads many traces one after the other, sorted by id; missing ones are left out. It holds at most a megabyte of events
 * in memory, or one larger trace. The traces have no address and no `superseded`.
 *
 * @throws the reason of the signal.
 */
export async function* readTraces(
  queries: Kysely<DatabaseSchema>,
  traceIds: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<Trace, void> {
  for (let from = 0; from < traceIds.length; from += SIZED_AT_ONCE) {
    const ids = traceIds.slice(from, from + SIZED_AT_ONCE);
    const sizes = await readSizes(queries, ids);
    const batches = batchesOf(ids, sizes);
    // The next batch is read while this one is processed.
    let reading = begin(queries, batches[0]);
    for (const [place, batch] of batches.entries()) {
      signal.throwIfAborted();
      const projections = await reading;
      reading = begin(queries, batches[place + 1]);
      for (const id of batch) {
        const projection = projections.get(id);
        if (projection !== undefined) yield projection.toTrace();
      }
    }
  }
}

/**
 * Starts to read a batch. Its error is handled by the caller that awaits it, and ignored when the reading stops before.
 */
function begin(
  queries: Kysely<DatabaseSchema>,
  batch: readonly string[] | undefined,
): Promise<ReadonlyMap<string, TraceProjection>> {
  const reading = batch === undefined ? Promise.resolve(new Map()) : project(queries, batch);
  reading.catch(() => {});
  return reading;
}

async function readSizes(
  queries: Kysely<DatabaseSchema>,
  traceIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await queries
    .selectFrom('events')
    .select(['trace_id', sql<number>`sum(octet_length(${sql.ref('body')}))`.as('bytes')])
    .where('trace_id', 'in', traceIds)
    .groupBy('trace_id')
    .execute();
  return new Map(rows.map(({ trace_id, bytes }) => [trace_id, Number(bytes)]));
}

function batchesOf(ids: readonly string[], sizes: ReadonlyMap<string, number>): readonly (readonly string[])[] {
  const batches: string[][] = [];
  let left = 0;
  for (const id of ids) {
    const bytes = sizes.get(id);
    if (bytes === undefined) continue;
    const last = batches.at(-1);
    if (last === undefined || bytes > left) {
      batches.push([id]);
      left = BYTES_AT_ONCE - bytes;
    } else {
      last.push(id);
      left -= bytes;
    }
  }
  return batches;
}

async function project(
  queries: Kysely<DatabaseSchema>,
  traceIds: readonly string[],
): Promise<ReadonlyMap<string, TraceProjection>> {
  const rows = await queries
    .selectFrom('events')
    .select(['trace_id', 'seq', 'attempt', 'at', 'body'])
    .where('trace_id', 'in', traceIds)
    .orderBy('trace_id')
    .orderBy('seq')
    .execute();
  const projections = new Map<string, TraceProjection>();
  for (const { trace_id: traceId, ...row } of rows) {
    const projection = projections.get(traceId) ?? new TraceProjection({ traceId, traceUrl: '' });
    projections.set(traceId, projection);
    projection.add(toTraceEvent(row));
  }
  return projections;
}
