import { sql } from 'kysely';
import { isEnded } from '../../../contract/service/ended.ts';
import type { EvaluationDetail, Progress, Report } from '../../../contract/service/evaluation.ts';
import type { EventOf } from '../../../contract/service/event.ts';
import type { GradesQuery } from '../../../contract/service/replay.ts';
import type { Database } from '../../../store/database/database.ts';
import { MAX_RERUNS } from '../../../store/traces/rows/attempt-rows.ts';
import type { EvaluationRow } from '../evaluation-rows.ts';
import { parseSettings } from '../evaluation-settings.ts';
import { readProgress } from './read-progress.ts';
import { readReports } from './read-reports.ts';

/** Figures that are computed from the attempts of an evaluation. */
export interface EvaluationFigures extends Pick<EvaluationDetail, 'environment_hashes' | 'suspects'> {
  readonly progress: Progress;
  readonly reports: readonly Report[];
  /** Absent in figures that an earlier version stored. */
  readonly changed_environments?: string[];
}

interface Remembered {
  readonly figures: Promise<EvaluationFigures>;
  /** Time until which they are fresh. */
  until: number;
}

/** Figures of a running evaluation are computed in at most 1/50 of the time: 2 % of a core. */
const SHARE = 50;
/**
 * Oldest age of figures in milliseconds. A busy machine makes reading slow without making the work larger. An attempt
 * costs about 10 µs.
 */
const LONGEST_MS = 1_000;
const LONGEST_MS_OF_AN_ATTEMPT = 0.5;
/** Evaluations whose figures are remembered. */
const MAX_REMEMBERED = 1_000;
const MAX_SUSPECTS = 1_000;

/**
 * Figures of evaluations. Those of an ended evaluation are stored with it. Those of a running one are cached for 50
 * times as long as their computation takes, so that many readers and large evaluations cost little.
 */
export class FiguresReader {
  readonly #database: Database;
  readonly #remembered = new Map<string, Remembered>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** @param grades `current`: by the newest grades. These figures are not stored. */
  async of(
    row: EvaluationRow,
    { grades }: { readonly grades?: GradesQuery | undefined } = {},
  ): Promise<EvaluationFigures> {
    if (grades === 'current') return await this.#remember(row, 'current');
    if (row.report !== null) return JSON.parse(row.report) as EvaluationFigures; // As this class wrote it.
    if (!isEnded(row.status)) return await this.#remember(row, 'recorded');
    this.forget(row.evaluation_id);
    const figures = await readFigures(this.#database, row);
    await this.#keep(row, figures);
    return figures;
  }

  /** Drops cached figures after a change that readers should see. */
  forget(evaluationId: string): void {
    for (const grades of ['recorded', 'current'] as const) this.#remembered.delete(keyOf(evaluationId, grades));
  }

  #remember(row: EvaluationRow, grades: GradesQuery): Promise<EvaluationFigures> {
    const id = keyOf(row.evaluation_id, grades);
    const known = this.#remembered.get(id);
    if (known !== undefined && performance.now() < known.until) return known.figures;
    const startedAt = performance.now();
    const figures = readFigures(this.#database, row, grades);
    const entry: Remembered = { figures, until: Number.POSITIVE_INFINITY };
    this.#remembered.delete(id); // to the end: most recently used
    this.#remembered.set(id, entry);
    if (this.#remembered.size > MAX_REMEMBERED) this.#remembered.delete(this.#remembered.keys().next().value ?? '');
    figures.then(
      ({ progress }) => {
        const now = performance.now();
        const longestMs = LONGEST_MS + progress.total * LONGEST_MS_OF_AN_ATTEMPT;
        entry.until = now + Math.min((now - startedAt) * SHARE, longestMs);
      },
      () => {
        if (this.#remembered.get(id) === entry) this.#remembered.delete(id);
      },
    );
    return figures;
  }

  /** Stores figures, unless attempts of a cancelled evaluation are still ending, or it was started again. */
  async #keep(row: EvaluationRow, figures: EvaluationFigures): Promise<void> {
    const { running, queued = 0 } = figures.progress;
    if (running + queued > 0) return;
    await this.#database.kysely
      .updateTable('evaluations')
      .set({ report: JSON.stringify(figures) })
      .where('evaluation_id', '=', row.evaluation_id)
      .where('status', '=', row.status)
      .where('finished_at', '=', row.finished_at)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('evaluation_attempts')
              .select('state')
              .where('evaluation_attempts.evaluation_id', '=', row.evaluation_id)
              .where('state', '=', 'running')
              .where(sql<boolean>`state <> 'done'`),
          ),
        ),
      )
      .execute();
  }
}

function keyOf(evaluationId: string, grades: GradesQuery): string {
  return `${grades} ${evaluationId}`;
}

async function readFigures(
  database: Database,
  row: EvaluationRow,
  grades: GradesQuery = 'recorded',
): Promise<EvaluationFigures> {
  const id = row.evaluation_id;
  const environment_hashes = await readHashes(database, id);
  return {
    progress: await readProgress(database, id),
    reports: await readReports(database, id, { grades }),
    environment_hashes,
    changed_environments: await readChanged(database, id, Object.keys(environment_hashes)),
    suspects: await readSuspects(database, row),
  };
}

async function readHashes({ scans }: Database, evaluationId: string): Promise<Record<string, number>> {
  const rows = await scans
    .selectFrom('evaluation_attempts')
    .select(({ fn }) => ['environment_hash', fn.countAll<number>().as('count')])
    .where('evaluation_id', '=', evaluationId)
    .where('environment_hash', 'is not', null)
    .groupBy('environment_hash')
    .execute();
  return Object.fromEntries(rows.map((each) => [each.environment_hash ?? '', Number(each.count)]));
}

/** Environments whose attempts ran different code. Different environments have different hashes anyway. */
async function readChanged({ scans }: Database, evaluationId: string, hashes: readonly string[]): Promise<string[]> {
  const seen = new Set<string>();
  const changed = new Set<string>();
  for (const hash of hashes.length < 2 ? [] : hashes) {
    const found = await scans
      .selectFrom('evaluation_attempts as attempt')
      .innerJoin('traces', 'traces.trace_id', 'attempt.trace_id')
      .select('traces.env_name')
      .where('attempt.evaluation_id', '=', evaluationId)
      .where('attempt.environment_hash', '=', hash)
      .limit(1)
      .executeTakeFirst();
    if (found === undefined) continue;
    if (seen.has(found.env_name)) changed.add(found.env_name);
    seen.add(found.env_name);
  }
  return [...changed].sort();
}

/** Attempts that lost their environment in every rerun, with the tool that each trace called last. */
async function readSuspects({ scans }: Database, row: EvaluationRow): Promise<EvaluationDetail['suspects']> {
  const { models } = parseSettings(row.settings);
  const rows = await scans
    .selectFrom('evaluation_attempts as attempt')
    .innerJoin('evaluation_tasks as task', (join) =>
      join
        .onRef('task.evaluation_id', '=', 'attempt.evaluation_id')
        .onRef('task.task_index', '=', 'attempt.task_index'),
    )
    .select(['attempt.trace_id', 'attempt.attempt_index', 'attempt.model_index', 'task.task_id'])
    .where('attempt.evaluation_id', '=', row.evaluation_id)
    .where('attempt.state', '=', 'done')
    .where('attempt.outcome', '=', 'infra_error')
    .where('attempt.rerun', '>=', MAX_RERUNS)
    .orderBy('attempt.task_index')
    .orderBy('attempt.model_index')
    .orderBy('attempt.attempt_index')
    .limit(MAX_SUSPECTS)
    .execute();
  const suspects: EvaluationDetail['suspects'] = [];
  for (const { task_id, model_index, attempt_index } of rows) {
    const model = models[model_index] ?? '';
    const all = scans
      .selectFrom('traces')
      .select('trace_id')
      .where('evaluation_id', '=', row.evaluation_id)
      .where('task_id', '=', task_id)
      .where('attempt_index', '=', attempt_index)
      .where('model', '=', model);
    const traces = await all.execute();
    const died = await diedDuringCalls(
      scans,
      traces.map(({ trace_id }) => trace_id),
    );
    if (traces.length > MAX_RERUNS && died === traces.length) {
      suspects.push({ task_id, model, attempt_index, suspect: 'agent' });
    }
  }
  return suspects;
}

/**
 * Number of traces that ended during a tool call because the environment or the worker died: no model was asked after
 * the last call. The result of such a call says that it was stopped.
 */
async function diedDuringCalls(queries: Database['scans'], traceIds: readonly string[]): Promise<number> {
  if (traceIds.length === 0) return 0;
  const traces = await queries
    .selectFrom('traces')
    .select(({ selectFrom }) => [
      selectFrom('events')
        .select(({ fn }) => fn.max('events.seq').as('seq'))
        .whereRef('events.trace_id', '=', 'traces.trace_id')
        .where('events.type', '=', 'tool.called')
        .as('called'),
      selectFrom('events')
        .select(({ fn }) => fn.max('events.seq').as('seq'))
        .whereRef('events.trace_id', '=', 'traces.trace_id')
        .where('events.type', '=', 'model.requested')
        .as('asked'),
      selectFrom('events')
        .select('events.body')
        .whereRef('events.trace_id', '=', 'traces.trace_id')
        .where('events.type', '=', 'run.finished')
        .orderBy('events.seq', 'desc')
        .limit(1)
        .as('finished'),
    ])
    .where('trace_id', 'in', traceIds)
    .where('outcome', '=', 'infra_error')
    .execute();
  return traces.filter(
    ({ called, asked, finished }) => Number(called) > Number(asked) && DEATHS.has(boundaryOf(finished)),
  ).length;
}

/** Boundaries that mean a death. Other failures, such as a slow tool, leave the environment running. */
const DEATHS: ReadonlySet<unknown> = new Set(['environment', 'worker']);

function boundaryOf(finished: string | null): unknown {
  const { error } = JSON.parse(finished ?? '{}') as Partial<EventOf<'run.finished'>>; // As the store wrote it.
  return error?.boundary;
}
