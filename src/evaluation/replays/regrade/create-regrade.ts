import { sql } from 'kysely';
import { ApiError } from '../../../contract/errors.ts';
import { GRADED_OUTCOMES } from '../../../contract/service/outcome.ts';
import type { Database, DatabaseTransaction } from '../../../store/database/database.ts';
import type { TraceStore } from '../../../store/traces/trace-store.ts';
import { newId } from '../../../support/runtime/new-id.ts';
import { findEvaluation } from '../../evaluations/evaluation-rows.ts';
import { assertEnded } from '../recorded-runs.ts';

export interface RegradeOwner {
  readonly account: string;
  /** API key of the request, whose runs the replays are; null for none. */
  readonly keyId: string | null;
}

export interface CreateRegradeOptions {
  readonly database: Database;
  readonly store: TraceStore;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called for each needed environment. @throws if it does not exist, because its replays would wait forever. */
  checkEnvironment(name: string): void | Promise<void>;
}

/** Outcomes that are graded again: those with an evaluation, and those of a failed evaluator. */
const REGRADED = [...GRADED_OUTCOMES, 'grader_error'] as const;

/** A trace, or all attempts of an evaluation. `fresh` asks judges again and ignores recorded verdicts. */
export type RegradeOf = ({ readonly traceId: string } | { readonly evaluationId: string }) & {
  readonly fresh?: boolean | undefined;
};

/**
 * Makes a job that grades a trace, or an evaluation's attempts, with the current environment. Any process that runs the
 * scheduler starts its replays.
 *
 * @returns its id. @throws ApiError trace_not_found, evaluation_not_found, env_not_found or run_running.
 */
export async function createRegrade(
  options: CreateRegradeOptions,
  owner: RegradeOwner,
  of: RegradeOf,
): Promise<string> {
  const jobId = `regrade_${newId()}`;
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
  const { task_id, model, attempt_index, reward } = trace;
  return (transaction, jobId) =>
    transaction
      .insertInto('regrade_rows')
      .values({
        job_id: jobId,
        row_index: 0,
        trace_id: traceId,
        state: 'waiting',
        reward_before: reward,
        task_id,
        model,
        attempt_index,
      })
      .execute();
}

/** One statement, because an evaluation may have very many attempts. */
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
