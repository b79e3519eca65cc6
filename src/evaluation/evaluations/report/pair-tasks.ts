import { type Kysely, sql } from 'kysely';
import type { DatabaseSchema } from '../../../store/database/tables/schema.ts';

/** A task of one evaluation, and that of the same id in another one. */
export interface TaskMatch {
  readonly taskId: string;
  readonly taskIndex: number;
  /** Null if the other evaluation has no task with this id. */
  readonly otherIndex: number | null;
  /** True if environment, scenario and arguments are the same. */
  readonly isSame: boolean;
  readonly isSameCluster: boolean;
}

/** Tasks that one query reads. */
const TASKS_OF_QUERY = 4_000;

interface MatchRow {
  readonly task_id: string;
  readonly task_index: number;
  readonly other_index: number | null;
  readonly is_same: number;
  readonly is_same_cluster: number;
}

/** The tasks of an evaluation in order of their ids, each with that of the other one, some thousand at a time. */
export async function* matchTasks(
  queries: Kysely<DatabaseSchema>,
  { evaluationId, tasks }: { readonly evaluationId: string; readonly tasks: number },
  otherId: string,
): AsyncGenerator<readonly TaskMatch[]> {
  for (let from = 0; from < tasks; from += TASKS_OF_QUERY) {
    const { rows } = await sql<MatchRow>`
      select one.task_id, one.task_index, other.task_index as other_index,
        case when one.content = other.content then 1 else 0 end as is_same,
        case when one.cluster = other.cluster then 1 else 0 end as is_same_cluster
      from evaluation_tasks as one
      left join evaluation_tasks as other on other.evaluation_id = ${otherId} and other.task_id = one.task_id
      where one.evaluation_id = ${evaluationId} and one.task_index >= ${from}
        and one.task_index < ${from + TASKS_OF_QUERY}
      order by one.task_index`.execute(queries);
    yield rows.map((row) => ({
      taskId: row.task_id,
      taskIndex: row.task_index,
      otherIndex: row.other_index,
      isSame: row.is_same === 1,
      isSameCluster: row.is_same_cluster === 1,
    }));
  }
}

/** Tasks of both evaluations whose attempts did not all run the same code of their environment. */
export async function countChangedCode(queries: Kysely<DatabaseSchema>, a: string, b: string): Promise<number> {
  const hashes = (evaluationId: string) => sql`
    select task_index, min(environment_hash) as low, max(environment_hash) as high from evaluation_attempts
    where evaluation_id = ${evaluationId} and environment_hash is not null group by task_index`;
  const { rows } = await sql<{ readonly tasks: number }>`
    with a as materialized (${hashes(a)}), b as materialized (${hashes(b)})
    select count(*) as tasks from evaluation_tasks as one
    join evaluation_tasks as other
      on other.evaluation_id = ${b} and other.task_id = one.task_id and other.content = one.content
    join a on a.task_index = one.task_index join b on b.task_index = other.task_index
    where one.evaluation_id = ${a} and (a.low <> a.high or b.low <> b.high or a.low <> b.low)`.execute(queries);
  return rows[0]?.tasks ?? 0;
}
