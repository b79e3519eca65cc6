import type { Selectable } from 'kysely';
import { z } from 'zod';
import { ApiError } from '../../../contract/errors.ts';
import {
  REGRADE_ID_PATTERN,
  type Regrade,
  type RegradeList,
  type RegradeOutcome,
  type RegradeRow,
  regradeSchema,
} from '../../../contract/service/regrade.ts';
import type { Database } from '../../../store/database/database.ts';
import { parsePageCursor, parsePageLimit, toPageCursor } from '../../../store/database/page-cursor.ts';
import type { RegradeRowsTable, RegradesTable } from '../../../store/database/tables/create-replays.ts';

export interface RegradeQuery {
  readonly outcome?: RegradeOutcome | undefined;
  /** 1 to 1,000 rows, default 100. */
  readonly limit?: number | undefined;
  /** The `next_cursor` of the page before. */
  readonly cursor?: string | undefined;
}

const LIMIT = { default: 100, minimum: 1, maximum: 1_000 } as const;
const MAX_JOBS = 20;

/** @throws ApiError regrade_not_found; invalid_parameter for a limit or cursor that is not one of this list. */
export async function readRegrade(
  { kysely, scans }: Database,
  { account, jobId, appUrl }: { readonly account: string; readonly jobId: string; readonly appUrl: string },
  query: RegradeQuery = {},
): Promise<Regrade> {
  const job = await findRegrade({ kysely }, { account, jobId });
  const limit = parsePageLimit(query.limit, LIMIT);
  const list = ['regrade', jobId, query.outcome ?? null];
  const from = query.cursor === undefined ? 0 : parsePageCursor(query.cursor, list, z.int().min(0));
  let rows = kysely.selectFrom('regrade_rows').selectAll().where('job_id', '=', jobId).where('row_index', '>=', from);
  if (query.outcome !== undefined) rows = rows.where('outcome', '=', query.outcome);
  const page = await rows
    .orderBy('row_index')
    .limit(limit + 1)
    .execute();
  const next = page[limit];
  return {
    ...toJob(job, await readProgress(scans, jobId), appUrl),
    models: await readModels(scans, jobId),
    rows: page.slice(0, limit).map(toRow),
    next_cursor: next === undefined ? null : toPageCursor(list, next.row_index),
  };
}

/** @throws ApiError regrade_not_found, for a job of another account too. */
export async function findRegrade(
  { kysely }: Pick<Database, 'kysely'>,
  { account, jobId }: { readonly account: string; readonly jobId: string },
): Promise<Selectable<RegradesTable>> {
  const job = REGRADE_ID_PATTERN.test(jobId)
    ? await kysely
        .selectFrom('regrades')
        .selectAll()
        .where('job_id', '=', jobId)
        .where('account', '=', account)
        .executeTakeFirst()
    : undefined;
  if (job !== undefined) return job;
  throw new ApiError('regrade_not_found', `There is no regrade job ${JSON.stringify(jobId.slice(0, 100))}.`);
}

/** Jobs of an evaluation, newest first. */
export async function listRegrades(
  { kysely, scans }: Database,
  {
    account,
    evaluationId,
    appUrl,
  }: { readonly account: string; readonly evaluationId: string; readonly appUrl: string },
): Promise<RegradeList> {
  const jobs = await kysely
    .selectFrom('regrades')
    .selectAll()
    .where('evaluation_id', '=', evaluationId)
    .where('account', '=', account)
    .orderBy('created_at', 'desc')
    .limit(MAX_JOBS)
    .execute();
  const data: RegradeList['data'] = [];
  for (const job of jobs) data.push(toJob(job, await readProgress(scans, job.job_id), appUrl));
  return { object: 'list', data };
}

async function readProgress(scans: Database['scans'], jobId: string): Promise<Regrade['progress']> {
  const rows = await scans
    .selectFrom('regrade_rows')
    .select(({ fn }) => ['outcome', fn.countAll<number>().as('count')])
    .where('job_id', '=', jobId)
    .groupBy('outcome')
    .execute();
  const count = (outcome: string | null) => Number(rows.find((row) => row.outcome === outcome)?.count ?? 0);
  const ends = { same: count('same'), changed: count('changed'), differs: count('differs'), failed: count('failed') };
  const done = Object.values(ends).reduce((total, each) => total + each, 0);
  return { total: done + count(null), done, ...ends };
}

/** Means over the means of tasks, as in the report of an evaluation: each task counts once. */
async function readModels(scans: Database['scans'], jobId: string): Promise<Regrade['models']> {
  const tasks = scans
    .selectFrom('regrade_rows')
    .select(({ fn, eb }) => [
      'model',
      fn.countAll<number>().as('graded'),
      fn
        .countAll<number>()
        .filterWhere(eb('outcome', '=', 'changed'))
        .as('changed'),
      fn.avg<number | null>('reward_before').as('before'),
      fn.avg<number | null>('reward_after').as('after'),
    ])
    .where('job_id', '=', jobId)
    .where('outcome', 'in', ['same', 'changed'])
    .groupBy(['model', 'task_id']);
  const rows = await scans
    .selectFrom(tasks.as('tasks'))
    .select(({ fn }) => [
      'model',
      fn.sum<number>('graded').as('graded'),
      fn.sum<number>('changed').as('changed'),
      fn.avg<number | null>('before').as('before'),
      fn.avg<number | null>('after').as('after'),
    ])
    .groupBy('model')
    .orderBy('model')
    .execute();
  return rows.map(({ model, graded, changed, before, after }) => ({
    model,
    graded: Number(graded),
    changed: Number(changed),
    mean_before: before === null ? null : Number(before),
    mean_after: after === null ? null : Number(after),
  }));
}

function toJob(
  job: Selectable<RegradesTable>,
  progress: Regrade['progress'],
  appUrl: string,
): RegradeList['data'][number] {
  return {
    object: 'regrade',
    job_id: job.job_id,
    job_url: toJobUrl(appUrl, job.job_id),
    status: regradeSchema.shape.status.parse(job.status),
    fresh: job.fresh === 1,
    trace_id: job.trace_id,
    evaluation_id: job.evaluation_id,
    created_at: new Date(Number(job.created_at)).toISOString(),
    finished_at: job.finished_at === null ? null : new Date(Number(job.finished_at)).toISOString(),
    progress,
  };
}

/** The page of a job. */
export function toJobUrl(appUrl: string, jobId: string): string {
  return `${appUrl}/regrades/${jobId}`;
}

/** Rows hold what this package wrote, so that reading them back trusts them. */
function toRow(row: Selectable<RegradeRowsTable>): RegradeRow {
  const detail = row.detail === null ? null : JSON.parse(row.detail);
  return {
    trace_id: row.trace_id,
    replay_trace_id: row.replay_trace_id,
    task_id: row.task_id,
    model: row.model,
    attempt_index: row.attempt_index,
    outcome: row.outcome as RegradeOutcome | null,
    before: row.reward_before,
    after: row.reward_after,
    difference: row.outcome === 'differs' ? detail : null,
    error: row.outcome === 'failed' ? detail : null,
  };
}
