import { setImmediate as nextTurn } from 'node:timers/promises';
import { DEFAULT_CONCURRENCY } from '../../contract/service/evaluation.ts';
import type { Task } from '../../contract/task.ts';
import type { Database, DatabaseTransaction } from '../../store/database/database.ts';
import type { EvaluationTasksTable } from '../../store/database/tables/schema.ts';
import { newId } from '../../support/runtime/new-id.ts';
import { hashTaskContent } from '../tasks/taskset.ts';
import { changeEvaluation } from './change-evaluation.ts';
import { type EvaluationRow, findEvaluation } from './evaluation-rows.ts';
import type { EvaluationSettings } from './evaluation-settings.ts';
import type { CreateOptions, NewEvaluation } from './evaluation-store.ts';
import { identityOf, playFields } from './identity.ts';
import { checkLimits } from './limits/check-limits.ts';

/** Rows per statement, so that other work gets its turn in between. */
const TASKS_AT_ONCE = 2_000;

interface Beginning extends Pick<CreateOptions, 'paused'> {
  readonly now: () => number;
}

export interface CreatedRow {
  readonly evaluationId: string;
  readonly status: string;
  readonly isNew: boolean;
}

/**
 * Stores an evaluation with its tasks, or resumes an existing one, in one transaction. Attempts are stored when they
 * start, so their number costs nothing here.
 *
 * @throws ApiError as `EvaluationStore.create`.
 */
export async function createEvaluation(
  database: Database,
  evaluation: NewEvaluation,
  options: Pick<CreateOptions, 'resume'> &
    Beginning & {
      readonly inTransaction: (transaction: DatabaseTransaction, created: CreatedRow) => Promise<void>;
    },
): Promise<CreatedRow> {
  checkLimits(evaluation);
  // Two concurrent resumes must find the same evaluation.
  const locking = options.resume ? { locking: ['evaluations'] as const } : {};
  return await database.transaction(async (transaction) => {
    const known = options.resume ? await findSame(transaction, evaluation) : undefined;
    const created =
      known === undefined
        ? await insertEvaluation(database, transaction, evaluation, options)
        : await goOn(transaction, known, evaluation, options);
    await options.inTransaction(transaction, created);
    return created;
  }, locking);
}

/** The latest evaluation with the same identity that can be resumed. */
export async function findSame(
  queries: Database['kysely'],
  evaluation: NewEvaluation,
): Promise<EvaluationRow | undefined> {
  return await queries
    .selectFrom('evaluations')
    .selectAll()
    .where('account', '=', evaluation.account)
    .where('identity', '=', identityOf(evaluation))
    .where('status', 'in', ['running', 'paused', 'completed'])
    .orderBy('created_at', 'desc')
    .orderBy('evaluation_id', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** Resumes an evaluation with the given settings. More attempts are added; fewer change nothing. */
async function goOn(
  transaction: DatabaseTransaction,
  row: EvaluationRow,
  { attempts, concurrency, budget }: NewEvaluation,
  { now, paused }: Beginning,
): Promise<CreatedRow> {
  const patch = {
    ...(attempts > row.attempts ? { attempts } : {}),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(budget === undefined ? {} : { budget }),
  };
  const changed = await changeEvaluation(transaction, row, patch, now());
  const status = changed === 'completed' || row.status === 'running' ? changed : firstStatus(paused);
  if (status !== changed) {
    await transaction
      .updateTable('evaluations')
      .set({ status })
      .where('evaluation_id', '=', row.evaluation_id)
      .execute();
  }
  return { evaluationId: row.evaluation_id, status, isNew: false };
}

function firstStatus(paused = false): 'running' | 'paused' {
  return paused ? 'paused' : 'running';
}

async function insertEvaluation(
  database: Database,
  transaction: DatabaseTransaction,
  evaluation: NewEvaluation,
  { now, paused }: Beginning,
): Promise<CreatedRow> {
  const { account, parent = null, taskset, models, resolved = [] } = evaluation;
  if (parent !== null) await findEvaluation(transaction, account, parent, 'parent');
  const evaluationId = `eval_${newId()}`;
  const status = firstStatus(paused);
  const settings: EvaluationSettings = {
    models,
    ...(resolved.length === 0 ? {} : { resolved }),
    agent: evaluation.agent ?? null,
    ...(evaluation.agent == null ? {} : { agent_version: evaluation.agentVersion ?? null }),
    ...playFields(evaluation),
    metadata: evaluation.metadata,
  };
  await transaction
    .insertInto('evaluations')
    .values({
      evaluation_id: evaluationId,
      account,
      key_id: evaluation.keyId,
      name: evaluation.name,
      identity: identityOf(evaluation),
      parent,
      status,
      settings: JSON.stringify(settings),
      taskset_name: taskset.name,
      taskset_version: taskset.version,
      tasks: taskset.tasks.length,
      attempts: evaluation.attempts,
      concurrency: evaluation.concurrency ?? DEFAULT_CONCURRENCY,
      budget_usd: evaluation.budget?.usd ?? null,
      budget_tokens: evaluation.budget?.tokens ?? null,
      created_at: now(),
      finished_at: null,
      report: null,
    })
    .execute();
  await insertTasks(database, transaction, evaluationId, taskset.tasks);
  return { evaluationId, status, isNew: true };
}

async function insertTasks(
  database: Database,
  transaction: DatabaseTransaction,
  evaluationId: string,
  tasks: readonly Task[],
): Promise<void> {
  for (let from = 0; from < tasks.length; from += TASKS_AT_ONCE) {
    const rows = tasks.slice(from, from + TASKS_AT_ONCE).map(
      (task, index): EvaluationTasksTable => ({
        evaluation_id: evaluationId,
        task_index: from + index,
        task_id: task.id,
        cluster: task.cluster,
        content: hashTaskContent(task),
        task: JSON.stringify(task),
      }),
    );
    const [first] = rows;
    if (first === undefined) return;
    const statement = database.kysely.insertInto('evaluation_tasks').values(first).compile();
    await database.runEach([{ statement, rows: rows.map((row) => Object.values(row)) }], { transaction });
    await nextTurn();
  }
}
