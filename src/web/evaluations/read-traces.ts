import type { Database } from '../../store/database/database.ts';
import { MOST_DRAWN_ATTEMPTS } from './evaluation-data.ts';

/** The latest trace of an attempt; null: it has none. */
export type TraceOf = (task: number, model: number, attempt: number) => string | null;

/** Finds the traces of some tasks, by index. They are looked up for attempts that are drawn one by one alone. */
export async function readTraces(
  { kysely }: Database,
  evaluationId: string,
  { tasks, attempts }: { readonly tasks: readonly number[]; readonly attempts: number },
): Promise<TraceOf> {
  if (tasks.length === 0 || attempts > MOST_DRAWN_ATTEMPTS) return () => null;
  const rows = await kysely
    .selectFrom('evaluation_attempts')
    .select(['attempt_index', 'task_index', 'model_index', 'trace_id'])
    .where('evaluation_id', '=', evaluationId)
    .where('task_index', 'in', [...tasks])
    .execute();
  const known = new Map(rows.map((row) => [`${row.task_index} ${row.model_index} ${row.attempt_index}`, row.trace_id]));
  return (task, model, attempt) => known.get(`${task} ${model} ${attempt}`) ?? null;
}
