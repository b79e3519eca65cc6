import { createHash, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { GRADED_OUTCOMES, type Outcome, RERUN_OUTCOMES } from '../../src/contract/service/outcome.ts';
import { createSeededRandom } from '../../src/models/gateway/reference/seeded-random.ts';
import type { Database } from '../../src/store/database/database.ts';
import type { DatabaseSchema } from '../../src/store/database/tables/schema.ts';

export interface EvaluationSize {
  readonly tasks: number;
  readonly models: number;
  readonly attempts: number;
  /** Default: each task is a cluster of its own. */
  readonly clusterSize?: number;
}

/** Rows of one transaction. */
const BATCH = 5_000;
const STARTED_AT = Date.parse('2026-06-01T00:00:00Z');

/**
 * Writes an evaluation that has ended, with the rows that its attempts would have left: texts as long as real ones, in the
 * order in which attempts begin. One in fifty has no reward. Traces are left out.
 *
 * @returns its id.
 */
export async function fillEvaluation(database: Database, size: EvaluationSize): Promise<string> {
  const evaluationId = `eval_${randomBytes(16).toString('hex')}`;
  await writeEvaluation(database, evaluationId, size);
  await write(database, 'evaluation_tasks', toTaskRows(evaluationId, size));
  await write(database, 'evaluation_attempts', toAttemptRows(evaluationId, size));
  // As Postgres does by itself a minute later.
  if (database.kind === 'postgres')
    await sql`vacuum analyze evaluation_attempts, evaluation_tasks`.execute(database.kysely);
  return evaluationId;
}

async function writeEvaluation(
  { kysely }: Database,
  evaluationId: string,
  { tasks, models, attempts }: EvaluationSize,
): Promise<void> {
  const settings = {
    models: Array.from({ length: models }, (_, index) => `vendor/model-${index}`),
    agent: null,
    max_steps: null,
    timeout_seconds: null,
    sampling: {},
    seed: null,
    pass_threshold: 1,
    metadata: {},
  };
  await kysely
    .insertInto('evaluations')
    .values({
      evaluation_id: evaluationId,
      account: 'local',
      identity: hashOf(evaluationId),
      status: 'completed',
      settings: JSON.stringify(settings),
      taskset_version: hashOf('tasks'),
      tasks,
      attempts,
      concurrency: 32,
      next_attempt: tasks * models * attempts,
      created_at: STARTED_AT,
      finished_at: STARTED_AT + 3_600_000,
    })
    .execute();
}

function* toTaskRows(evaluationId: string, { tasks, clusterSize = 1 }: EvaluationSize) {
  const names = Array.from({ length: tasks }, (_, index) => `task-${index}`).sort();
  for (const [index, id] of names.entries()) {
    const task = { id, env: 'retail', scenario: 'support', args: { customer: index, text: 'x'.repeat(300) } };
    const cluster = clusterSize === 1 ? id : `cluster-${Math.floor(index / clusterSize)}`;
    yield {
      evaluation_id: evaluationId,
      task_index: index,
      task_id: id,
      cluster,
      content: hashOf(id),
      task: JSON.stringify(task),
    };
  }
}

function* toAttemptRows(evaluationId: string, { tasks, models, attempts }: EvaluationSize) {
  const { next: draw } = createSeededRandom(1);
  const environmentHash = hashOf('environment');
  for (let attempt = 1; attempt <= attempts; attempt++) {
    for (let task = 0; task < tasks; task++) {
      for (let model = 0; model < models; model++) {
        const outcome = drawOutcome(draw());
        const durationMs = Math.floor(draw() ** 3 * 600_000);
        const promptTokens = Math.floor(draw() * 50_000);
        const usage = { prompt_tokens: promptTokens, completion_tokens: 900, total_tokens: promptTokens + 900 };
        const isGraded = (GRADED_OUTCOMES as readonly Outcome[]).includes(outcome);
        yield {
          evaluation_id: evaluationId,
          attempt_index: attempt,
          task_index: task,
          model_index: model,
          state: 'done',
          trace_id: randomBytes(16).toString('hex'),
          rerun: isGraded ? 0 : 3,
          rerun_limit: 3,
          outcome,
          reward: isGraded ? drawReward(draw(), task) : null,
          steps: 1 + Math.floor(draw() * 40),
          usage: JSON.stringify({ ...usage, cached_tokens: 0, reasoning_tokens: 0, cost_usd: promptTokens / 1e6 }),
          ...usage,
          cost_usd: promptTokens / 1e6,
          started_at: STARTED_AT + task,
          finished_at: STARTED_AT + task + durationMs,
          duration_ms: durationMs,
          error: isGraded
            ? null
            : JSON.stringify({ boundary: 'environment', code: 'environment_failed', message: 'x' }),
          environment_hash: environmentHash,
          earlier_usd: isGraded ? null : 0.01,
          earlier_tokens: isGraded ? 0 : 1_000,
        };
      }
    }
  }
}

function drawOutcome(share: number): Outcome {
  if (share < 0.02) return RERUN_OUTCOMES[Math.floor(share * 200)] ?? 'infra_error';
  if (share < 0.08) return 'limit';
  return share < 0.09 ? 'agent_error' : 'graded';
}

/** Half of the tasks are all or nothing, half are graded in parts. */
function drawReward(share: number, task: number): number {
  const difficulty = (task * 7_919) % 100;
  if (task % 2 === 0) return share * 100 > difficulty ? 1 : 0;
  return Math.round(share * 1_000) / 1_000;
}

async function write<Row extends object>(
  database: Database,
  table: keyof DatabaseSchema,
  rows: Iterable<Row>,
): Promise<void> {
  let batch: Row[] = [];
  for (const row of rows) {
    batch.push(row);
    if (batch.length < BATCH) continue;
    await insert(database, table, batch);
    batch = [];
  }
  if (batch.length > 0) await insert(database, table, batch);
}

async function insert<Row extends object>(
  database: Database,
  table: keyof DatabaseSchema,
  rows: readonly Row[],
): Promise<void> {
  const statement = database.kysely
    .insertInto(table)
    .values(rows[0] as never) // The columns are those of its rows.
    .compile();
  await database.runEach([{ statement, rows: rows.map((row) => Object.values(row)) }]);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
