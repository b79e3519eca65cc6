import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { ApiError } from '../../contract/errors.ts';
import { GRADED_OUTCOMES } from '../../contract/outcome.ts';
import type { Database, DatabaseTransaction } from '../../database/database.ts';
import { findEvaluation } from '../../evaluations/evaluation-rows.ts';
import { rewardOf } from '../../trace/attempt-rows.ts';
import type { TraceStore } from '../../trace/trace-store.ts';
import { assertEnded } from '../recorded-runs.ts';

export interface RegradeOwner {
  readonly account: string;
  /** The API key that it was asked for with; its replays are runs of this key. Null: none. */
  readonly keyId: string | null;
}

export interface CreateRegradeOptions {
  readonly database: Database;
  readonly store: TraceStore;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Asked of each environment that is needed. @throws where there is none of that name: its replays would wait for ever. */
  checkEnvironment(name: string): void | Promise<void>;
}

/** Outcomes of attempts that are graded again: those with an evaluation, and those that failed of the evaluator. */
const REGRADED = [...GRADED_OUTCOMES, 'grader_error'] as const;

/** A trace, or all attempts of an evaluation. With `fresh` judges are asked again, whatever is recorded. */
export type RegradeOf = ({ readonly traceId: string } | { readonly evaluationId: string }) & {
  readonly fresh?: boolean | undefined;
};

/**
 * A job that grades a trace, or the attempts of an evaluation, by the environment of today. Whichever process drives the
 * database begins its replays.
 *
 * @returns its id. @throws ApiError trace_not_found, evaluation_not_found, env_not_found or run_running.
 */
export async function createRegrade(
  options: CreateRegradeOptions,
  owner: RegradeOwner,
  of: RegradeOf,
): Promise<string> {
  const jobId = `regrade_${randomBytes(16).toString('hex')}`;
  const insert =
    'traceId' in of ? await ofTrace(options, owner, of.traceId) : await ofEvaluation(options, owner, of.evaluationId);
  await options.database.transaction(async (transaction) => {
    await transaction
      .insertInto('regrades')
      .values({
        job_id: jobId,
        account: owner.account,
        key_id: owner.keyId,
        trace_id: 'traceId' in of ? of.traceId : null,
        evaluation_id: 'evaluationId' in of ? of.evaluationId : null,
        status: 'running',
        fresh: of.fresh === true ? 1 : 0,
        created_at: options.now(),
        finished_at: null,
      })
      .execute();
    await insert(transaction, jobId);
  });
  return jobId;
}

type Insert = (transaction: DatabaseTransaction, jobId: string) => Promise<unknown>;

async function ofTrace(
  { store, ...options }: CreateRegradeOptions,
  { account }: RegradeOwner,
  traceId: string,
): Promise<Insert> {
  const trace = await store.traceSummary(traceId, account);
  if (trace === undefined) throw new ApiError('trace_not_found', `There is no trace ${JSON.stringify(traceId)}.`);
  assertEnded(trace);
  await options.checkEnvironment(trace.env_name);
  const { task_id, model, attempt_index, evaluation_id } = trace;
  const before = evaluation_id === null ? trace.reward : rewardOf(trace);
  return (transaction, jobId) =>
    transaction
      .insertInto('regrade_rows')
      .values({
        ...{ job_id: jobId, row_index: 0, trace_id: traceId, state: 'waiting', reward_before: before },
        ...{ task_id, model, attempt_index },
      })
      .execute();
}

/** In one statement: an evaluation may have very many attempts. */
async function ofEvaluation(
  { database, checkEnvironment }: CreateRegradeOptions,
  { account }: RegradeOwner,
  evaluationId: string,
): Promise<Insert> {
  const row = await findEvaluation(database.kysely, account, evaluationId);
  if (row.status === 'running') {
    throw new ApiError('run_running', `Evaluation ${evaluationId} is running: wait for its end, pause or cancel it.`);
  }
  const environments = await database.kysely
    .selectFrom('traces')
    .select('env_name')
    .distinct()
    .where('evaluation_id', '=', evaluationId)
    .execute();
  for (const { env_name } of environments) await checkEnvironment(env_name);
  return async (transaction, jobId) =>
    await sql`
      insert into regrade_rows (job_id, row_index, trace_id, state, task_id, model, attempt_index, reward_before)
      select ${jobId}, row_number() over (order by attempt.task_index, attempt.model_index, attempt.attempt_index) - 1,
        attempt.trace_id, 'waiting', traces.task_id, traces.model, attempt.attempt_index, attempt.reward
      from evaluation_attempts as attempt join traces on traces.trace_id = attempt.trace_id
      where attempt.evaluation_id = ${evaluationId} and attempt.state = 'done'
        and attempt.outcome in (${sql.join(REGRADED)})`.execute(transaction);
}
