import type { Kysely } from 'kysely';
import { fitting, PageBudget, sizeOf } from '../../contract/service/page-budget.ts';
import type { Grade } from '../../contract/service/replay.ts';
import type { Trace, TraceSummary } from '../../contract/service/trace.ts';
import type { Database } from '../database/database.ts';
import type { DatabaseSchema } from '../database/tables/schema.ts';
import { readTrace } from './rows/event-rows.ts';
import { readGrades } from './rows/grades.ts';
import { parseSummary, toSummary } from './rows/projection.ts';
import type { TraceQuery } from './trace-store.ts';

/** Number of unfinished traces of a list that are projected at once. Each is in memory meanwhile. */
const MAX_PROJECTED = 8;

interface SummaryRow {
  readonly summary: string | null;
  readonly is_superseded: number;
  readonly grade_reward: number | null;
}

/** Reads traces for display: projected from their events, plus the facts that were added later. */
export class TraceReader {
  readonly #queries: Kysely<DatabaseSchema>;
  readonly #urlOf: (traceId: string) => string;

  constructor({ kysely }: Pick<Database, 'kysely'>, urlOf: (traceId: string) => string) {
    this.#queries = kysely;
    this.#urlOf = urlOf;
  }

  async trace(traceId: string, account?: string): Promise<Trace | undefined> {
    const row = await this.#find(traceId, account);
    const trace = row && (await readTrace(this.#queries, { traceId, traceUrl: this.#urlOf(traceId) }));
    if (row === undefined || trace === undefined) return undefined;
    const grades = await readGrades(this.#queries, [traceId]);
    return { ...trace, superseded: row.is_superseded === 1, grades: [...(grades.get(traceId) ?? [])] };
  }

  async summary(traceId: string, account?: string): Promise<TraceSummary | undefined> {
    const row = await this.#find(traceId, account);
    if (row === undefined) return undefined;
    const grades = await readGrades(this.#queries, [traceId]);
    return await this.#toSummary(traceId, row, grades.get(traceId));
  }

  async list(query: TraceQuery): Promise<{ data: TraceSummary[]; nextCursor: string | null }> {
    const { listTraceRows, readSummaries } = await import('./trace-list.ts');
    const { rows, nextCursor } = await listTraceRows(this.#queries, query);
    const loaded = fitting(rows, ({ bytes }) => bytes ?? 0);
    const stored = await readSummaries(this.#queries, loaded);
    const grades = await readGrades(
      this.#queries,
      loaded.map(({ trace_id }) => trace_id),
    );
    const budget = new PageBudget();
    const data: TraceSummary[] = [];
    for (let at = 0; at < loaded.length; at += MAX_PROJECTED) {
      const batch = loaded.slice(at, at + MAX_PROJECTED);
      const summaries = await Promise.all(
        batch.map((row) =>
          this.#toSummary(
            row.trace_id,
            { ...row, summary: stored.get(row.trace_id) ?? null },
            grades.get(row.trace_id),
          ),
        ),
      );
      for (const [index, summary] of summaries.entries()) {
        if (summary === undefined) continue;
        // The size of an unfinished run is only known after its projection.
        const bytes = batch[index]?.bytes ?? sizeOf(summary);
        if (!budget.takes(bytes)) return { data, nextCursor: loaded[at + index - 1]?.cursor ?? null };
        const current = query.grades === 'current' ? batch[index]?.grade_reward : undefined;
        data.push({ ...summary, reward: current ?? summary.reward });
      }
    }
    return { data, nextCursor: loaded.length < rows.length ? (loaded.at(-1)?.cursor ?? null) : nextCursor };
  }

  /** The row of a trace, in the given account or in any. */
  async #find(traceId: string, account: string | undefined) {
    const row = await this.#queries
      .selectFrom('traces')
      .select(['account', 'summary', 'is_superseded', 'grade_reward'])
      .where('trace_id', '=', traceId)
      .executeTakeFirst();
    return row === undefined || (account !== undefined && row.account !== account) ? undefined : row;
  }

  /** The summary of a finished trace is stored. Later facts are only in its rows. */
  async #toSummary(traceId: string, row: SummaryRow, grades: readonly Grade[] = []): Promise<TraceSummary | undefined> {
    const shown = { trace_url: this.#urlOf(traceId), superseded: row.is_superseded === 1, grades: [...grades] };
    if (row.summary !== null) return { ...parseSummary(row.summary), ...shown };
    const trace = await readTrace(this.#queries, { traceId, traceUrl: shown.trace_url });
    return trace && toSummary(trace);
  }
}
