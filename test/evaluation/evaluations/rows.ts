import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { sharedPostgres } from '../../postgres.ts';

/** Connections of several workers to one database, until the test ends. */
export const CONNECT = {
  SQLite: async (workers: number) => {
    const folder = await mkdtemp(join(tmpdir(), 'proctor-evaluations-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const [database] = await openAll(`sqlite:${join(folder, 'proctor.db')}`, 1);
    // Two connections of one process would wait for each other with the event loop stopped.
    return [database, ...Array.from({ length: workers - 1 }, () => database)] as const;
  },
  Postgres: async (workers: number) => await openAll(await (await sharedPostgres()).createDatabase(), workers),
};

async function openAll(url: string, workers: number): Promise<readonly [Database, ...Database[]]> {
  const first = await openDatabase(url);
  onTestFinished(() => first.close());
  const others: Database[] = [];
  for (let worker = 1; worker < workers; worker += 1) {
    const other = await openDatabase(url);
    onTestFinished(() => other.close());
    others.push(other);
  }
  return [first, ...others];
}

interface EvaluationFields {
  readonly concurrency?: number;
  readonly budget_usd?: number | null;
  readonly budget_tokens?: number | null;
}

/** The row of an evaluation that runs. @returns its id. */
export async function addEvaluation(database: Database, fields: EvaluationFields = {}): Promise<string> {
  const evaluation_id = `eval_${randomBytes(16).toString('hex')}`;
  await database.kysely
    .insertInto('evaluations')
    .values({
      evaluation_id,
      account: 'local',
      key_id: null,
      name: null,
      identity: evaluation_id,
      parent: null,
      status: 'running',
      settings: '{}',
      taskset_name: null,
      taskset_version: '0',
      tasks: 1,
      attempts: 1,
      concurrency: 32,
      budget_usd: null,
      budget_tokens: null,
      created_at: 0,
      finished_at: null,
      report: null,
      ...fields,
    })
    .execute();
  return evaluation_id;
}

export async function spentOf(database: Database, evaluationId: string) {
  const row = await database.kysely
    .selectFrom('evaluations')
    .select(['spent_usd', 'spent_tokens'])
    .where('evaluation_id', '=', evaluationId)
    .executeTakeFirstOrThrow();
  return { usd: row.spent_usd, tokens: row.spent_tokens };
}

export async function reservedOf(database: Database, evaluationId: string) {
  const rows = await database.kysely
    .selectFrom('evaluation_reservations')
    .select(['usd', 'tokens'])
    .where('evaluation_id', '=', evaluationId)
    .execute();
  return {
    count: rows.length,
    usd: rows.reduce((sum, { usd }) => sum + usd, 0),
    tokens: rows.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}

export const SILENT = { warn: () => {} };
