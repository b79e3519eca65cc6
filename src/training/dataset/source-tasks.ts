import { type Kysely, sql } from 'kysely';
import type { Task } from '../../contract/task.ts';
import { hashTaskContent } from '../../evaluation/tasks/taskset.ts';
import type { DatabaseSchema } from '../../store/database/tables/schema.ts';
import type { SourceRow } from './select-rows.ts';

type Queries = Kysely<DatabaseSchema>;

/** A key that equal tasks share: a hash of environment, short name of the scenario, and canonical arguments. */
export function taskKeyOf(task: Pick<Task, 'env' | 'scenario' | 'args'>): string {
  return hashTaskContent({ env: task.env, scenario: shortNameOf(task), args: task.args });
}

/** The name of a task's scenario without that of its environment. */
export function shortNameOf({ env, scenario }: Pick<Task, 'env' | 'scenario'>): string {
  return scenario.startsWith(`${env}:`) ? scenario.slice(env.length + 1) : scenario;
}

/** True when a task must not be trained on. */
export function isHeldOut({ split, held_out: isHeld }: Task): boolean {
  return isHeld || split === 'test';
}

/** The evaluation tasks of rows, by trace. */
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
    // This project wrote the JSON.
    const byId = new Map(found.map(({ task_id, task }) => [task_id, JSON.parse(task) as Task]));
    for (const { trace_id, task_id } of ofIt) {
      const task = byId.get(task_id ?? '');
      if (task !== undefined) tasks.set(trace_id, task);
    }
  }
  return tasks;
}

/** Held-out tasks of evaluations, whether or not they were played. */
export async function readHeldOutTasks(queries: Queries, evaluationIds: readonly string[]): Promise<readonly Task[]> {
  const heldOut: Task[] = [];
  for (const evaluationId of evaluationIds) {
    const rows = await queries
      .selectFrom('evaluation_tasks')
      .select('task')
      .where('evaluation_id', '=', evaluationId)
      // Arguments may contain the same text, so each result is checked below.
      .where(sql<boolean>`(task like '%"held_out":true%' or task like '%"split":"test"%')`)
      .execute();
    for (const row of rows) {
      const task = JSON.parse(row.task) as Task;
      if (isHeldOut(task)) heldOut.push(task);
    }
  }
  return heldOut;
}
