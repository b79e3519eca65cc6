import { type Kysely, sql } from 'kysely';
import type { Task } from '../../contract/task.ts';
import type { DatabaseSchema } from '../../database/schema.ts';
import { hashTaskContent } from '../../tasks/taskset.ts';
import type { SourceRow } from './select-rows.ts';

type Queries = Kysely<DatabaseSchema>;

/** The key by which two tasks are the same one: environment, scenario by its short name, and canonical arguments. */
export function taskKeyOf({ env, scenario, args }: Pick<Task, 'env' | 'scenario' | 'args'>): string {
  const short = scenario.startsWith(`${env}:`) ? scenario.slice(env.length + 1) : scenario;
  return hashTaskContent({ env, scenario: short, args });
}

/** Whether nothing may be learned from a task. */
export function isHeldOut({ split, held_out: isHeld }: Task): boolean {
  return isHeld || split === 'test';
}

/** The tasks of evaluations that rows are attempts of, by the trace. */
export async function readTasksOf(queries: Queries, rows: readonly SourceRow[]): Promise<ReadonlyMap<string, Task>> {
  const tasks = new Map<string, Task>();
  for (const evaluationId of new Set(rows.flatMap(({ evaluation_id }) => evaluation_id ?? []))) {
    const ofIt = rows.filter((row) => row.evaluation_id === evaluationId);
    const found = await queries
      .selectFrom('evaluation_tasks')
      .select(['task_id', 'task'])
      .where('evaluation_id', '=', evaluationId)
      .where('task_id', 'in', [...new Set(ofIt.flatMap(({ task_id }) => task_id ?? []))])
      .execute();
    const byId = new Map(found.map(({ task_id, task }) => [task_id, JSON.parse(task) as Task])); // As they were written.
    for (const { trace_id, task_id } of ofIt) {
      const task = byId.get(task_id ?? '');
      if (task !== undefined) tasks.set(trace_id, task);
    }
  }
  return tasks;
}

/** Those of evaluations that nothing may be learned from, whoever has played them: ids by what they ask for. */
export async function readHeldOutTasks(
  queries: Queries,
  evaluationIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const heldOut = new Map<string, string>();
  for (const evaluationId of evaluationIds) {
    const rows = await queries
      .selectFrom('evaluation_tasks')
      .select('task')
      .where('evaluation_id', '=', evaluationId)
      // Arguments may say so too: what is found is looked at.
      .where(sql<boolean>`(task like '%"held_out":true%' or task like '%"split":"test"%')`)
      .execute();
    for (const row of rows) {
      const task = JSON.parse(row.task) as Task;
      if (isHeldOut(task)) heldOut.set(taskKeyOf(task), task.id);
    }
  }
  return heldOut;
}
