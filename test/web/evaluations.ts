import { createHash } from 'node:crypto';
import type { Outcome } from '../../src/contract/service/outcome.ts';
import type { Database } from '../../src/store/database/database.ts';

/** An attempt as a test makes it up; undefined: it has not begun. */
export type MadeUpAttempt =
  | { readonly outcome: Outcome; readonly reward?: number | null; readonly rerun?: number; readonly traceId?: string }
  | { readonly state: 'running' | 'waiting'; readonly traceId?: string }
  | undefined;

export interface MadeUpEvaluation {
  readonly account?: string;
  readonly name?: string | null;
  readonly status?: string;
  readonly taskIds: readonly string[];
  readonly models: readonly string[];
  readonly attempts: number;
  readonly passThreshold?: number;
  readonly createdAt?: number;
  /** Ids that begin alike do not make two evaluations. */
  readonly key?: string;
  readonly tasksetName?: string | null;
  readonly budgetUsd?: number;
  /** Cluster of a task. Default: its id. */
  clusterOf?(task: number): string;
  /** What makes a task another one under the same id. */
  contentOf?(task: number): string;
  /** `attempt` is from 1. */
  attempt(task: number, model: number, attempt: number): MadeUpAttempt;
}

const ROWS_OF_AN_INSERT = 400;

/** Writes an evaluation with its tasks and attempts as the engine would have them, without traces. Gives its id. */
export async function addEvaluation(database: Database, made: MadeUpEvaluation): Promise<string> {
  const { taskIds, models, attempts, createdAt = Date.UTC(2026, 2, 18, 9), status = 'completed', key = '' } = made;
  const id = `eval_${toHex(`${key} ${made.name} ${createdAt} ${taskIds.length}`)}`;
  const cells = toCells(made);
  await database.transaction(async (transaction) => {
    await transaction
      .insertInto('evaluations')
      .values({
        evaluation_id: id,
        account: made.account ?? 'local',
        key_id: null,
        name: made.name ?? null,
        identity: toHex(id),
        parent: null,
        status,
        settings: JSON.stringify({
          models,
          agent: null,
          max_steps: null,
          timeout_seconds: null,
          sampling: {},
          seed: 7,
          pass_threshold: made.passThreshold ?? 1,
          metadata: {},
        }),
        taskset_name: made.tasksetName ?? null,
        taskset_version: createHash('sha256').update(taskIds.join()).digest('hex'),
        tasks: taskIds.length,
        attempts,
        concurrency: 32,
        budget_usd: made.budgetUsd ?? null,
        budget_tokens: null,
        next_attempt: cells.filter(({ made: cell }) => cell !== undefined).length,
        created_at: createdAt,
        finished_at: status === 'completed' || status === 'cancelled' ? createdAt + 754_000 : null,
        report: null,
      })
      .execute();
    const tasks = taskIds.map((taskId, index) => ({
      evaluation_id: id,
      task_index: index,
      task_id: taskId,
      cluster: made.clusterOf?.(index) ?? taskId,
      content: toHex(made.contentOf?.(index) ?? taskId),
      task: JSON.stringify({ id: taskId, env: 'counter', scenario: 'count_to', args: {} }),
    }));
    for (let at = 0; at < tasks.length; at += ROWS_OF_AN_INSERT)
      await transaction
        .insertInto('evaluation_tasks')
        .values(tasks.slice(at, at + ROWS_OF_AN_INSERT))
        .execute();
    const rows = cells.flatMap(({ made: cell, ...place }) =>
      cell === undefined ? [] : [toRow(id, place, cell, createdAt)],
    );
    for (let at = 0; at < rows.length; at += ROWS_OF_AN_INSERT)
      await transaction
        .insertInto('evaluation_attempts')
        .values(rows.slice(at, at + ROWS_OF_AN_INSERT))
        .execute();
  });
  return id;
}

interface Place {
  readonly task: number;
  readonly model: number;
  readonly attempt: number;
}

function toCells({ taskIds, models, attempts, attempt }: MadeUpEvaluation) {
  return taskIds.flatMap((_, task) =>
    models.flatMap((_, model) =>
      Array.from({ length: attempts }, (_, index) => ({
        task,
        model,
        attempt: index + 1,
        made: attempt(task, model, index + 1),
      })),
    ),
  );
}

/** The row of an attempt: its costs follow from its place. */
export function toRow(
  evaluationId: string,
  { task, model, attempt }: Place,
  made: Exclude<MadeUpAttempt, undefined>,
  createdAt: number,
) {
  const isDone = 'outcome' in made;
  const state: string = isDone ? 'done' : made.state;
  const steps = isDone ? 2 + ((task * 7 + attempt * 3 + model) % 9) : 0;
  const prompt = steps * 640;
  const completion = steps * 95;
  const cost = isDone ? steps * 0.0011 * (model + 1) : null;
  const startedAt = createdAt + task * 1_100;
  const duration = steps * 1_310;
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  return {
    evaluation_id: evaluationId,
    attempt_index: attempt,
    task_index: task,
    model_index: model,
    state,
    trace_id: made.traceId ?? toHex(`${evaluationId} ${task} ${model} ${attempt}`),
    rerun: isDone ? (made.rerun ?? 0) : 0,
    due_at: state === 'waiting' ? createdAt + 60_000 : null,
    outcome: isDone ? made.outcome : null,
    reward: isDone ? (made.reward ?? null) : null,
    steps,
    usage: JSON.stringify({ ...usage, cached_tokens: 0, reasoning_tokens: 0, cost_usd: cost }),
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    cost_usd: cost,
    started_at: startedAt,
    finished_at: isDone ? startedAt + duration : null,
    duration_ms: isDone ? duration : null,
    error: null,
    environment_hash: 'c0ffee',
    earlier_usd: 0,
    earlier_tokens: 0,
  };
}

function toHex(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** Numbers from 0 to 1 that look random, and are the same each time. */
export function chanceOf(...place: readonly (number | string)[]): number {
  return createHash('sha256').update(place.join(' ')).digest().readUInt32BE(0) / 2 ** 32;
}
