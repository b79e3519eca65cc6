import type { TaskList } from '../contract/evaluation.ts';
import type { Database } from '../database/database.ts';

/** Rows of a page. */
export const TASK_ROWS_LIMIT = { default: 100, minimum: 1, maximum: 1_000 } as const;

export interface TaskRowsQuery {
  readonly evaluationId: string;
  readonly model?: string | undefined;
  readonly taskId?: string | undefined;
  readonly limit?: number | undefined;
  /** The `next_cursor` of the page before. */
  readonly cursor?: string | undefined;
}

/**
 * A row for each task and model, in order of task id, then of the evaluation's models.
 *
 * @throws ApiError evaluation_not_found; invalid_parameter for a model that is not in it, a limit out of range and a
 *   cursor of another list.
 */
export async function readTaskRows(_database: Database, _query: TaskRowsQuery): Promise<TaskList> {
  throw new Error('not built yet');
}
