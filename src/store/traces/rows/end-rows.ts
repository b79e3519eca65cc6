import type { CompiledQuery } from 'kysely';
import type { Database, RowsWrite } from '../../database/database.ts';
import type { OutcomesTable } from '../../database/tables/schema.ts';
import { isRedacted } from '../redact-event.ts';
import { type EndedAttempt, MAX_RERUNS, toEndedAttempt } from './attempt-rows.ts';
import { type OutcomeOwner, toOutcomeRow } from './outcome-rows.ts';
import type { TraceProjection } from './projection.ts';
import { toFinishedColumns } from './trace-rows.ts';

/** A trace with all of its events, including `run.finished`. */
export interface EndedTrace {
  readonly traceId: string;
  readonly projection: TraceProjection;
  readonly owner: OutcomeOwner;
  /** JSON of the first event. */
  readonly first: string;
  /** Milliseconds since 1970. */
  readonly finishedAt: number;
}

/** Writes the rows that change at the start and the end of a run's attempt. Its statements are compiled once. */
export class EndRows {
  readonly #database: Database;
  readonly #start: CompiledQuery;
  readonly #end: CompiledQuery;
  readonly #endAndForget: CompiledQuery;
  #outcome: CompiledQuery | undefined;
  #attempt: CompiledQuery | undefined;

  constructor(database: Database) {
    this.#database = database;
    const update = (columns: object) =>
      database.kysely.updateTable('traces').set(columns).where('trace_id', '=', '').compile();
    const ended = { status: '', reward: 0, finished_at: 0, duration_ms: 0, total_tokens: 0, outcome: '', summary: '' };
    this.#start = update({ status: '' });
    this.#end = update(ended);
    this.#endAndForget = update({ ...ended, request: '' });
  }

  /** Writes for traces whose attempt starts to run. */
  starts(traceIds: readonly string[]): readonly RowsWrite[] {
    return some(
      this.#start,
      traceIds.map((traceId) => ['running', traceId]),
    );
  }

  /** Writes for traces that have ended: their rows, and their outcomes for summaries and usage. */
  ends(ended: readonly EndedTrace[]): readonly RowsWrite[] {
    const kept: unknown[][] = [];
    const forgotten: unknown[][] = [];
    const outcomes: OutcomesTable[] = [];
    const attempts: { readonly traceId: string; readonly columns: EndedAttempt }[] = [];
    for (const { traceId, projection, owner, first, finishedAt } of ended) {
      const trace = projection.toTrace();
      const columns = Object.values(toFinishedColumns(trace, finishedAt));
      // Workers need the original request. After the run the row keeps only the redacted request of the first event.
      const isForgotten = isRedacted([trace.model, trace.scenario_args, trace.sampling, trace.metadata]);
      if (isForgotten) forgotten.push([...columns, first, traceId]);
      else kept.push([...columns, traceId]);
      outcomes.push(toOutcomeRow(owner, trace, projection.toUsed()));
      if (trace.evaluation_id === null) continue;
      const attempt = toEndedAttempt(trace, projection.rerunLimit ?? MAX_RERUNS, finishedAt);
      attempts.push({ traceId, columns: attempt });
    }
    return [
      ...some(this.#end, kept),
      ...some(this.#endAndForget, forgotten),
      ...this.#outcomes(outcomes),
      ...this.#attempts(attempts),
    ];
  }

  #attempts(ended: readonly { readonly traceId: string; readonly columns: EndedAttempt }[]): readonly RowsWrite[] {
    const [first] = ended;
    if (first === undefined) return [];
    this.#attempt ??= this.#database.kysely
      .updateTable('evaluation_attempts')
      .set(first.columns)
      .where('trace_id', '=', '')
      .compile();
    return some(
      this.#attempt,
      ended.map(({ traceId, columns }) => [...Object.values(columns), traceId]),
    );
  }

  #outcomes(rows: readonly OutcomesTable[]): readonly RowsWrite[] {
    const [first] = rows;
    if (first === undefined) return [];
    this.#outcome ??= this.#database.kysely.insertInto('outcomes').values(first).compile();
    return some(
      this.#outcome,
      rows.map((row) => Object.values(row)),
    );
  }
}

function some(statement: CompiledQuery, rows: readonly (readonly unknown[])[]): readonly RowsWrite[] {
  return rows.length === 0 ? [] : [{ statement, rows }];
}
