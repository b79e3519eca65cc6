import { sql } from 'kysely';
import { MAX_STEPS } from '../../contract/names.ts';
import type { Task } from '../../contract/task.ts';
import { toQueuedRun } from '../../rollout/session/queued-run.ts';
import type { Database, DatabaseTransaction } from '../../store/database/database.ts';
import type { RunQueue } from '../../store/queue/run-queue.ts';
import { MAX_RERUNS } from '../../store/traces/rows/attempt-rows.ts';
import type { Chosen, NewTrace, TraceStore } from '../../store/traces/trace-store.ts';
import { newId } from '../../support/runtime/new-id.ts';
import { type AttemptPlace, attemptsInAll, placeAt, seedOf } from './attempt-order.ts';
import { type BegunAttempt, insertAttempts, supersede } from './attempt-writes.ts';
import type { EvaluationRow } from './evaluation-rows.ts';
import { type EvaluationSettings, parseSettings, resolvedOf } from './evaluation-settings.ts';

export interface BeginOptions {
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Most attempts of one transaction. */
export const MAX_BEGUN = 200;
const DEFAULT_TIMEOUT_SECONDS = 3_600;
/** Most queued runs of one key (contract section 3, "Keys"). */
const MAX_QUEUED_RUNS = 10_000;

/**
 * Starts attempts of an evaluation while fewer than its `concurrency` are queued or running; due reruns come first. One
 * transaction locks the evaluation's row, so that several processes can call this, and a killed process leaves either
 * the whole batch or nothing. If no attempt is left, the evaluation is completed.
 *
 * @returns the number of started attempts.
 */
export async function beginAttempts(options: BeginOptions, evaluationId: string): Promise<number> {
  return await options.store.createChosen((transaction) => chooseAttempts(options, transaction, evaluationId));
}

const NOTHING: Chosen = { traces: [] };

async function chooseAttempts(
  { database, queue, now }: BeginOptions,
  transaction: DatabaseTransaction,
  evaluationId: string,
): Promise<Chosen> {
  const row = await transaction
    .selectFrom('evaluations')
    .selectAll()
    .where('evaluation_id', '=', evaluationId)
    .$if(database.kind === 'postgres', (query) => query.forUpdate())
    .executeTakeFirst();
  if (row === undefined || row.status !== 'running') return NOTHING;
  const settings = parseSettings(row.settings);
  const open = await readOpen(transaction, evaluationId);
  const isSpent = hasBudget(row) && (await isOverBudget(transaction, evaluationId));
  const total = attemptsInAll({ ...row, models: settings.models.length });
  const isLast = isSpent || (row.next_attempt >= total && open.waiting === 0);
  if (isLast) {
    if (open.running === 0) await complete(transaction, evaluationId, now());
    return NOTHING;
  }
  const room = Math.min(row.concurrency - open.running, MAX_BEGUN, await roomOfKey(transaction, row.key_id));
  if (room <= 0) return NOTHING;
  const again = open.waiting === 0 ? [] : await readDue(transaction, evaluationId, { now: now(), limit: room });
  const fresh = placesFrom(row, settings, Math.min(room - again.length, total - row.next_attempt));
  const begun = [...again, ...fresh];
  if (begun.length === 0) return NOTHING;
  const tasks = await readTasks(transaction, evaluationId, begun);
  const traces = begun.flatMap((attempt) => {
    const task = tasks.get(attempt.taskIndex);
    return task === undefined ? [] : [toTrace(row, settings, attempt, task)];
  });
  return {
    traces,
    inTransaction: async (each) => {
      const entries = traces.map(({ traceId, queued }) =>
        queue.enqueue({ traceId, priority: queued.priority, envName: queued.env_name, keyId: row.key_id }, each),
      );
      await Promise.all(entries);
      await insertAttempts(database, each, row, fresh);
      for (const attempt of again) await supersede(each, evaluationId, attempt);
    },
  };
}

function hasBudget({ budget_usd, budget_tokens }: EvaluationRow): boolean {
  return budget_usd !== null || budget_tokens !== null;
}

/** True if the budget did not cover an attempt. The evaluation then stops until its budget is raised. */
async function isOverBudget(transaction: DatabaseTransaction, evaluationId: string): Promise<boolean> {
  const found = await transaction
    .selectFrom('evaluation_attempts')
    .select('state')
    .where('evaluation_id', '=', evaluationId)
    .where(sql<boolean>`outcome = 'over_budget'`)
    .where('state', '=', 'done')
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

/** Attempts that are queued, running or waiting for a rerun. The condition matches the index. */
async function readOpen(transaction: DatabaseTransaction, evaluationId: string) {
  const { running, waiting } = await transaction
    .selectFrom('evaluation_attempts')
    .select(({ fn, eb }) => [
      fn
        .countAll<number>()
        .filterWhere(eb('state', '=', 'running'))
        .as('running'),
      fn
        .countAll<number>()
        .filterWhere(eb('state', '=', 'waiting'))
        .as('waiting'),
    ])
    .where('evaluation_id', '=', evaluationId)
    .where(sql<boolean>`state <> 'done'`)
    .executeTakeFirstOrThrow();
  return { running: Number(running), waiting: Number(waiting) };
}

async function complete(transaction: DatabaseTransaction, evaluationId: string, now: number): Promise<void> {
  await transaction
    .updateTable('evaluation_attempts')
    .set({ state: 'done', due_at: null })
    .where('evaluation_id', '=', evaluationId)
    .where(sql<boolean>`state <> 'done'`)
    .execute();
  await transaction
    .updateTable('evaluations')
    .set({ status: 'completed', finished_at: now, report: null })
    .where('evaluation_id', '=', evaluationId)
    .execute();
}

/** Free places of the key that made the evaluation. Its attempts are runs of this key. */
async function roomOfKey(transaction: DatabaseTransaction, keyId: string | null): Promise<number> {
  if (keyId === null) return Number.POSITIVE_INFINITY;
  const { count } = await transaction
    .selectFrom('traces')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('key_id', '=', keyId)
    .where(sql<boolean>`status = 'queued' and key_id is not null`)
    .executeTakeFirstOrThrow();
  return MAX_QUEUED_RUNS - Number(count);
}

async function readDue(
  transaction: DatabaseTransaction,
  evaluationId: string,
  { now, limit }: { readonly now: number; readonly limit: number },
): Promise<BegunAttempt[]> {
  const rows = await transaction
    .selectFrom('evaluation_attempts')
    .select(['attempt_index', 'task_index', 'model_index', 'trace_id', 'rerun', 'rerun_limit'])
    .where('evaluation_id', '=', evaluationId)
    .where('state', '=', 'waiting')
    .where(sql<boolean>`state <> 'done'`)
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    attemptIndex: row.attempt_index,
    taskIndex: row.task_index,
    modelIndex: row.model_index,
    traceId: newTraceId(),
    rerun: row.rerun + 1,
    rerunLimit: row.rerun_limit,
    earlierTraceId: row.trace_id,
  }));
}

function placesFrom(row: EvaluationRow, { models }: EvaluationSettings, count: number): BegunAttempt[] {
  return Array.from({ length: Math.max(0, count) }, (_, index) => ({
    ...placeAt({ tasks: row.tasks, models: models.length }, row.next_attempt + index),
    traceId: newTraceId(),
    rerun: 0,
    rerunLimit: MAX_RERUNS,
    earlierTraceId: null,
  }));
}

async function readTasks(
  transaction: DatabaseTransaction,
  evaluationId: string,
  attempts: readonly AttemptPlace[],
): Promise<ReadonlyMap<number, Task>> {
  const rows = await transaction
    .selectFrom('evaluation_tasks')
    .select(['task_index', 'task'])
    .where('evaluation_id', '=', evaluationId)
    .where('task_index', 'in', [...new Set(attempts.map(({ taskIndex }) => taskIndex))])
    .execute();
  return new Map(rows.map(({ task_index, task }) => [task_index, JSON.parse(task) as Task])); // As this layer wrote it.
}

function toTrace(row: EvaluationRow, settings: EvaluationSettings, attempt: BegunAttempt, task: Task): NewTrace {
  const { traceId, attemptIndex, modelIndex, rerun, rerunLimit } = attempt;
  return {
    traceId,
    account: row.account,
    keyId: row.key_id,
    queued: toQueuedRun({
      origin: 'eval',
      env_name: task.env,
      scenario_name: toShortName(task),
      scenario_args: task.args,
      model: resolvedOf(settings, settings.models[modelIndex] ?? ''),
      max_steps: task.max_steps ?? settings.max_steps ?? MAX_STEPS.default,
      timeout_seconds: task.timeout_seconds ?? settings.timeout_seconds ?? DEFAULT_TIMEOUT_SECONDS,
      seed: seedOf(settings.seed, task.id, attemptIndex),
      sampling: settings.sampling,
      metadata: { ...settings.metadata },
      agent: settings.agent,
      user_model: settings.user_model,
      judge_model: settings.judge_model,
      user_script: task.user_script,
      evaluation: {
        evaluation_id: row.evaluation_id,
        task_id: task.id,
        attempt_index: attemptIndex,
        rerun,
        rerun_limit: rerunLimit,
      },
    }),
  };
}

/** The short name of a scenario, which a task may name together with its environment. */
function toShortName({ env, scenario }: Task): string {
  return scenario.startsWith(`${env}:`) ? scenario.slice(env.length + 1) : scenario;
}

function newTraceId(): string {
  return newId();
}
