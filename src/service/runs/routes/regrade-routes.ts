import { z } from 'zod';
import {
  regradeAcceptedSchema,
  regradeListSchema,
  regradeOutcomeSchema,
  regradeRequestSchema,
  regradeSchema,
} from '../../../contract/service/regrade.ts';
import type { Catalogue } from '../../../environment/client/catalogue.ts';
import { findEvaluation } from '../../../evaluation/evaluations/evaluation-rows.ts';
import { cancelRegrade } from '../../../evaluation/replays/regrade/cancel-regrade.ts';
import { createRegrade, type RegradeOf } from '../../../evaluation/replays/regrade/create-regrade.ts';
import { listRegrades, readRegrade, toJobUrl } from '../../../evaluation/replays/regrade/read-regrade.ts';
import type { Database } from '../../../store/database/database.ts';
import type { RunQueue } from '../../../store/queue/run-queue.ts';
import type { TraceStore } from '../../../store/traces/trace-store.ts';
import { accountOf } from '../../../support/http/api/api-keys.ts';
import { defineRoute, type Route, type RouteRequest } from '../../../support/http/api/route.ts';
import { textQuerySchema } from '../../traces/traces-route.ts';

export interface RegradeRoutesOptions {
  readonly catalogue: Catalogue;
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  /** Cancels a run that a worker of this process plays. */
  cancelHere(traceId: string): void;
  /** Address of the pages, without a slash at the end. */
  readonly appUrl: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called for each new job, to wake the scheduler of this process. */
  readonly onCreated: () => void;
}

const access = 'key-or-browser';

const rowsQuerySchema = z.object({
  outcome: regradeOutcomeSchema.optional(),
  limit: z.int().optional(),
  cursor: textQuerySchema,
});

/** Routes for regrades: jobs that replay traces and grade them again, and their reports. */
export function createRegradeRoutes(options: RegradeRoutesOptions): readonly Route[] {
  const { database, appUrl, catalogue } = options;
  const checkEnvironment = async (name: string) => void (await catalogue.scenarios(name));
  const begin = async ({ caller }: Pick<RouteRequest, 'caller'>, of: RegradeOf) => {
    const jobId = await createRegrade(
      { ...options, checkEnvironment },
      { account: accountOf(caller), keyId: caller?.keyId ?? null },
      of,
    );
    options.onCreated();
    return { body: { job_id: jobId, job_url: toJobUrl(appUrl, jobId) } };
  };
  const ofTrace = defineRoute({
    method: 'POST',
    path: '/v1/traces/:trace_id/regrade',
    summary: 'Replay a trace that has ended, and grade it by the evaluation of today',
    access,
    response: regradeAcceptedSchema,
    about: { errors: ['trace_not_found', 'env_not_found', 'run_running'] },
    request: regradeRequestSchema,
    handle: (request) => begin(request, { ...request.body, traceId: request.params.trace_id ?? '' }),
  });
  const ofEvaluation = defineRoute({
    method: 'POST',
    path: '/v1/evaluations/:evaluation_id/regrade',
    summary: 'Replay the attempts of an evaluation that does not run, and grade them by the evaluation of today',
    access,
    response: regradeAcceptedSchema,
    about: { errors: ['evaluation_not_found', 'env_not_found', 'run_running'] },
    request: regradeRequestSchema,
    handle: (request) => begin(request, { ...request.body, evaluationId: request.params.evaluation_id ?? '' }),
  });
  const one = defineRoute({
    method: 'GET',
    path: '/v1/regrades/:job_id',
    summary: 'Progress and rows of a regrade job; 1 to 1,000 rows a page, default 100',
    access,
    query: rowsQuerySchema,
    response: regradeSchema,
    about: { errors: ['regrade_not_found'] },
    async handle({ params, queryValues, caller }) {
      const job = { account: accountOf(caller), jobId: params.job_id ?? '', appUrl };
      return { body: await readRegrade(database, job, queryValues) };
    },
  });
  const list = defineRoute({
    method: 'GET',
    path: '/v1/evaluations/:evaluation_id/regrades',
    summary: 'Regrade jobs of an evaluation, newest first, at most 20',
    access,
    response: regradeListSchema,
    about: { errors: ['evaluation_not_found'] },
    async handle({ params, caller }) {
      const [account, evaluationId] = [accountOf(caller), params.evaluation_id ?? ''];
      await findEvaluation(database.kysely, account, evaluationId);
      return { body: await listRegrades(database, { account, evaluationId, appUrl }) };
    },
  });
  const cancel = defineRoute({
    method: 'POST',
    path: '/v1/regrades/:job_id/cancel',
    summary: 'End a regrade job and the replays that run; grades that it has given stay',
    access,
    response: regradeSchema,
    about: { errors: ['regrade_not_found', 'run_finished'] },
    async handle({ params, caller }) {
      const job = { account: accountOf(caller), jobId: params.job_id ?? '', appUrl };
      await cancelRegrade(options, job);
      return { body: await readRegrade(database, job) };
    },
  });
  return [ofTrace, ofEvaluation, one, cancel, list];
}
