import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';
import type { EvaluationStatus } from '../../../src/contract/service/evaluation.ts';
import type { Outcome } from '../../../src/contract/service/outcome.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { emptyTables, sharedPostgres } from '../../postgres.ts';

/** Makers of empty databases, one for each test; on Postgres it is the same one for a test file, emptied. */
export function eachDatabase(): [name: string, open: () => Promise<Database>][] {
  let onPostgres: Promise<Database> | undefined;
  afterAll(async () => await (await onPostgres)?.close());
  const openPostgres = async () => {
    onPostgres ??= sharedPostgres().then(async (server) => await openDatabase(await server.createDatabase()));
    const database = await onPostgres;
    onTestFinished(() => emptyTables(database));
    return database;
  };
  return [
    ['SQLite', openFile],
    ['SQLite in memory', openInMemory],
    ['Postgres', openPostgres],
  ];
}

async function openFile(): Promise<Database> {
  const folder = mkdtempSync(join(tmpdir(), 'proctor-evaluations-'));
  const database = await openDatabase(`sqlite:${join(folder, 'proctor.db')}`);
  onTestFinished(async () => {
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return database;
}

export async function openInMemory(): Promise<Database> {
  const database = await openDatabase('sqlite::memory:');
  onTestFinished(() => database.close());
  return database;
}

/** A reward stands for a graded attempt. */
export type GivenAttempt = number | Outcome | AttemptFields;

export interface AttemptFields {
  readonly state?: 'running' | 'waiting' | 'done';
  readonly outcome?: Outcome | null;
  readonly reward?: number | null;
  readonly rerun?: number;
  readonly steps?: number;
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly total_tokens?: number;
  readonly cost_usd?: number | null;
  readonly earlier_usd?: number | null;
  readonly earlier_tokens?: number;
  readonly started_at?: number | null;
  readonly finished_at?: number | null;
  readonly duration_ms?: number | null;
  readonly environment_hash?: string | null;
}

export interface GivenTask {
  readonly id: string;
  readonly cluster?: string;
  /** Default: that of the id. */
  readonly content?: string;
  /** By model, in order of attempt; those that are not given have not begun. */
  readonly results: Readonly<Record<string, readonly GivenAttempt[]>>;
}

export interface GivenEvaluation {
  readonly tasks: readonly GivenTask[];
  /** Default: those of the first task. */
  readonly models?: readonly string[];
  /** Default: the most that a task has. */
  readonly attempts?: number;
  readonly status?: EvaluationStatus | 'deleted';
  readonly passThreshold?: number;
  readonly finishedAt?: number;
  readonly spentUsd?: number;
  readonly spentTokens?: number;
}

/** Writes the rows of an evaluation. @returns its id. */
export async function writeEvaluation(database: Database, given: GivenEvaluation): Promise<string> {
  const evaluationId = `eval_${randomBytes(16).toString('hex')}`;
  const { tasks, models = Object.keys(tasks[0]?.results ?? {}) } = given;
  const attempts =
    given.attempts ?? Math.max(1, ...tasks.flatMap(({ results }) => Object.values(results).map((each) => each.length)));
  const settings = {
    models,
    agent: null,
    max_steps: null,
    timeout_seconds: null,
    sampling: {},
    seed: null,
    pass_threshold: given.passThreshold ?? 1,
    metadata: {},
  };
  await database.kysely
    .insertInto('evaluations')
    .values({
      evaluation_id: evaluationId,
      account: 'local',
      identity: evaluationId,
      status: given.status ?? 'completed',
      settings: JSON.stringify(settings),
      taskset_version: 'v',
      tasks: tasks.length,
      attempts,
      concurrency: 32,
      created_at: 1,
      finished_at: given.finishedAt ?? null,
      spent_usd: given.spentUsd ?? 0,
      spent_tokens: given.spentTokens ?? 0,
    })
    .execute();
  const sorted = [...tasks].sort((one, other) => (one.id < other.id ? -1 : 1));
  for (const [index, task] of sorted.entries()) await writeTask(database, { evaluationId, index, models }, task);
  return evaluationId;
}

interface Place {
  readonly evaluationId: string;
  readonly index: number;
  readonly models: readonly string[];
}

async function writeTask({ kysely }: Database, { evaluationId, index, models }: Place, task: GivenTask): Promise<void> {
  await kysely
    .insertInto('evaluation_tasks')
    .values({
      evaluation_id: evaluationId,
      task_index: index,
      task_id: task.id,
      cluster: task.cluster ?? task.id,
      content: createHash('sha256')
        .update(task.content ?? task.id)
        .digest('hex'),
      task: '{}',
    })
    .execute();
  const rows = models.flatMap((model, modelIndex) =>
    (task.results[model] ?? []).map((given, attempt) => ({
      evaluation_id: evaluationId,
      task_index: index,
      model_index: modelIndex,
      attempt_index: attempt + 1,
      trace_id: randomBytes(16).toString('hex'),
      rerun_limit: 3,
      state: 'done',
      ...toFields(given),
    })),
  );
  // The columns that a row leaves out keep their defaults.
  for (const row of rows) await kysely.insertInto('evaluation_attempts').values(row).execute();
}

function toFields(given: GivenAttempt): AttemptFields {
  if (typeof given === 'number') return { outcome: 'graded', reward: given };
  return typeof given === 'string' ? { outcome: given } : given;
}
