import { type CompiledQuery, type ExpressionBuilder, type Kysely, sql } from 'kysely';
import type { DatabaseSchema, EventsTable } from '../database/schema.ts';

type Queries = Kysely<DatabaseSchema>;

/** Where a trace stands: what an append is checked against. */
export interface TraceHead {
  readonly trace_id: string;
  readonly attempt: number;
  readonly status: string;
  /** The sequence number of its last event; 0 where it has none. */
  readonly last_seq: number;
}

/** A statement takes this many traces, or rows; a few sizes, so that each is compiled and prepared once. */
const HEAD_SIZES = [1, 8, 64] as const;
const INSERT_SIZES = [1] as const;

/** Reads and writes of the append path. Compiling a query costs more than running it, so each is compiled once. */
export class EventStatements {
  readonly #heads: ReadonlyMap<number, CompiledQuery<TraceHead>>;
  readonly #inserts: ReadonlyMap<number, CompiledQuery>;

  constructor(queries: Queries) {
    this.#heads = new Map(HEAD_SIZES.map((size) => [size, compileHeads(queries, size)]));
    this.#inserts = new Map(INSERT_SIZES.map((size) => [size, compileInsert(queries, size)]));
  }

  /**
   * Where each of these traces stands. In a transaction that holds the write lock it stays true until the end, so that
   * an attempt is checked and sequence numbers are given without a write to the trace's row.
   */
  async heads(transaction: Queries, traceIds: readonly string[]): Promise<Map<string, TraceHead>> {
    const heads = new Map<string, TraceHead>();
    for (let start = 0; start < traceIds.length; ) {
      const left = traceIds.length - start;
      const size = HEAD_SIZES.find((each) => each >= left) ?? Math.max(...HEAD_SIZES);
      const chunk = traceIds.slice(start, start + size);
      const parameters = Array.from({ length: size }, (_, index) => chunk[index] ?? chunk[0]);
      const { rows } = await transaction.executeQuery(withParameters(this.#heads, size, parameters));
      for (const head of rows) heads.set(head.trace_id, head);
      start += size;
    }
    return heads;
  }

  /** Writes events. Their key refuses a sequence number that is taken. */
  async insert(transaction: Queries, rows: readonly EventsTable[]): Promise<void> {
    for (let start = 0; start < rows.length; ) {
      const size = INSERT_SIZES.findLast((each) => each <= rows.length - start) ?? 1;
      const parameters = rows.slice(start, start + size).flatMap(toParameters);
      await transaction.executeQuery(withParameters(this.#inserts, size, parameters));
      start += size;
    }
  }
}

/** The last sequence number of the trace of the row. Numbers have no gap, so that it is read from the key's index. */
export function lastSeq(traces: ExpressionBuilder<DatabaseSchema, 'traces'>) {
  return traces
    .selectFrom('events')
    .select(({ fn }) => fn.coalesce(fn.max('events.seq'), sql<number>`0`).as('last_seq'))
    .whereRef('events.trace_id', '=', 'traces.trace_id')
    .$asScalar()
    .$notNull()
    .as('last_seq');
}

function compileHeads(queries: Queries, size: number): CompiledQuery<TraceHead> {
  return queries
    .selectFrom('traces')
    .select(['trace_id', 'attempt', 'status'])
    .select(lastSeq)
    .where('trace_id', 'in', Array<string>(size).fill(''))
    .compile();
}

function compileInsert(queries: Queries, size: number): CompiledQuery {
  const row: EventsTable = { trace_id: '', seq: 0, attempt: 0, at: 0, type: '', body: '' };
  return queries.insertInto('events').values(Array<EventsTable>(size).fill(row)).compile();
}

/** In the order of the compiled row above. */
function toParameters(row: EventsTable): unknown[] {
  return [row.trace_id, row.seq, row.attempt, row.at, row.type, row.body];
}

function withParameters<Row>(
  statements: ReadonlyMap<number, CompiledQuery<Row>>,
  size: number,
  parameters: readonly unknown[],
): CompiledQuery<Row> {
  const compiled = statements.get(size);
  if (compiled === undefined) throw new Error(`No statement was compiled for ${size} rows`);
  return { ...compiled, parameters };
}
