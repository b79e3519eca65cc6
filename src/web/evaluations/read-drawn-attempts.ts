import type { Outcome } from '../../contract/service/outcome.ts';
import type { GradesQuery } from '../../contract/service/replay.ts';
import { resultColumns } from '../../evaluation/evaluations/report/read-cells.ts';
import type { Database } from '../../store/database/database.ts';
import { type CellState, MOST_DRAWN_ATTEMPTS } from './evaluation-data.ts';

/** An attempt that is drawn by itself, with its latest trace. */
export interface DrawnAttempt {
  readonly state: CellState;
  readonly reward: number | null;
  readonly trace: string | null;
}

/** Undefined for an attempt that has not begun. */
export type DrawnAttempts = (task: number, model: number, attempt: number) => DrawnAttempt | undefined;

export interface DrawnTasks {
  /** Their indexes. */
  readonly tasks: readonly number[];
  /** Attempts of each task with each model: many are not drawn one by one, and not read. */
  readonly attempts: number;
  readonly grades?: GradesQuery | undefined;
}

/** Reads the attempts of the tasks that a page draws. */
export async function readDrawnAttempts(
  { kysely }: Database,
  evaluationId: string,
  { tasks, attempts, grades }: DrawnTasks,
): Promise<DrawnAttempts> {
  if (tasks.length === 0 || attempts > MOST_DRAWN_ATTEMPTS) return () => undefined;
  const { outcome, reward } = resultColumns(grades);
  const rows = await kysely
    .selectFrom('evaluation_attempts')
    .select(['attempt_index', 'task_index', 'model_index', 'trace_id', 'state'])
    .select([outcome.as('shown_outcome'), reward.as('shown_reward')])
    .where('evaluation_id', '=', evaluationId)
    .where('task_index', 'in', [...tasks])
    .execute();
  const known = new Map(
    rows.map((row) => [
      `${row.task_index} ${row.model_index} ${row.attempt_index}`,
      {
        state: toState(row.state, row.shown_outcome),
        reward: row.state === 'done' ? row.shown_reward : null,
        trace: row.trace_id,
      },
    ]),
  );
  return (task, model, attempt) => known.get(`${task} ${model} ${attempt}`);
}

function toState(state: string, outcome: string | null): CellState {
  if (state === 'running' || state === 'waiting') return state;
  return (outcome as Outcome | null) ?? 'none'; // As the end of its trace wrote it.
}
