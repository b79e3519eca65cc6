import type { Logger } from 'pino';
import { z } from 'zod';
import { ApiError, type ReplyErrorCode } from '../../../contract/errors.ts';
import {
  attemptListSchema,
  comparisonListSchema,
  evaluationDetailSchema,
  evaluationListSchema,
  evaluationPatchSchema,
  evaluationStatusSchema,
  rerunRequestSchema,
  taskListSchema,
} from '../../../contract/service/evaluation.ts';
import { outcomeSchema } from '../../../contract/service/outcome.ts';
import { gradesQuerySchema } from '../../../contract/service/replay.ts';
import type { EvaluationStore } from '../../../evaluation/evaluations/evaluation-store.ts';
import { TABLE_FORMATS } from '../../../store/formats/attempt-table.ts';
import { accountOf } from '../../../support/http/api/api-keys.ts';
import { defineRoute, type Route, type RouteReply, type RouteRequest } from '../../../support/http/api/route.ts';
import { textQuerySchema, timeQuerySchema } from '../../traces/traces-route.ts';
import { MAX_WAIT_SECONDS } from '../../traces/wait-for-end.ts';
import { attemptsFile } from './attempts-file.ts';

export interface EvaluationRoutesOptions {
  readonly evaluations: EvaluationStore;
  /** Aborted when the service shuts down, which ends all waits. */
  readonly closing: AbortSignal;
  readonly logger: Pick<Logger, 'error'>;
}

const access = 'key-or-browser';

const gradesShape = { grades: gradesQuerySchema.optional() };
const pageSchema = z.object({ limit: z.int().optional(), cursor: textQuerySchema, ...gradesShape });
const listQuerySchema = pageSchema.extend({
  name: textQuerySchema,
  taskset: textQuerySchema,
  status: evaluationStatusSchema.optional(),
  since: timeQuerySchema,
  until: timeQuerySchema,
});
const taskQuerySchema = pageSchema.extend({ model: textQuerySchema, task_id: textQuerySchema });
const attemptQuerySchema = taskQuerySchema.extend({
  outcome: outcomeSchema.optional(),
  format: z.enum(TABLE_FORMATS).optional().meta({ description: 'All attempts as a file; without limit and cursor' }),
});
const waitQuerySchema = z.object({ wait: z.int().min(0).max(MAX_WAIT_SECONDS).default(0), ...gradesShape });
const compareQuerySchema = z.object({
  a: z.string().min(1),
  b: z.string().min(1),
  a_model: textQuerySchema,
  b_model: textQuerySchema,
  ...gradesShape,
});

/** All routes of `/v1/evaluations` except the one that creates. An evaluation of another account is not found. */
export function createEvaluationRoutes(options: EvaluationRoutesOptions): readonly Route[] {
  return [...createListRoutes(options), ...createReadRoutes(options), ...createControlRoutes(options)];
}

/** List routes. `/compare` comes before the path with any id. */
function createListRoutes({ evaluations }: EvaluationRoutesOptions): readonly Route[] {
  const list = defineRoute({
    method: 'GET',
    path: '/v1/evaluations',
    summary: 'Evaluations, newest first',
    access,
    query: listQuerySchema,
    response: evaluationListSchema,
    async handle({ queryValues: { since, until, ...query }, caller }) {
      const times = { since: toMilliseconds(since), until: toMilliseconds(until) };
      return { body: await evaluations.list(accountOf(caller), { ...query, ...times }) };
    },
  });
  const compare = defineRoute({
    method: 'GET',
    path: '/v1/evaluations/compare',
    summary: 'What changed from evaluation a to evaluation b, paired by task; differences are b − a',
    access,
    query: compareQuerySchema,
    response: comparisonListSchema,
    about: { errors: ['missing_required_parameter', 'evaluation_not_found'] },
    handle: async ({ queryValues, caller }) => ({ body: await evaluations.compare(accountOf(caller), queryValues) }),
  });
  return [list, compare];
}

function createReadRoutes({ evaluations, closing, logger }: EvaluationRoutesOptions): readonly Route[] {
  const one = defineRoute({
    method: 'GET',
    path: '/v1/evaluations/:evaluation_id',
    summary: 'An evaluation with its progress and reports; with ?wait=N once it has ended, or after N seconds',
    access,
    query: waitQuerySchema,
    response: evaluationDetailSchema,
    about: { errors: ['evaluation_not_found'] },
    async handle({ params, queryValues, caller, signal: gone }) {
      const [account, id] = [accountOf(caller), idOf(params)];
      const signal = AbortSignal.any([gone, closing]);
      await evaluations.waitForEnd(account, id, { seconds: queryValues.wait, signal });
      return { body: await evaluations.get(account, id, { grades: queryValues.grades }) };
    },
  });
  const attempts = defineRoute({
    method: 'GET',
    path: '/v1/evaluations/:evaluation_id/attempts',
    summary: 'Attempts by task, model and number, those that have not begun among them; 1 to 1,000 a page, default 100',
    access,
    query: attemptQuerySchema,
    response: attemptListSchema,
    about: { errors: ['evaluation_not_found'] },
    async handle({ params, queryValues: { format, ...query }, caller, method, requestId, signal: gone }) {
      const [account, id] = [accountOf(caller), idOf(params)];
      if (format === undefined) return { body: await evaluations.attempts(account, id, query) };
      const { limit, cursor, ...filters } = query;
      if (limit !== undefined || cursor !== undefined) throw notWithFormat(limit === undefined ? 'cursor' : 'limit');
      return await attemptsFile(evaluations, {
        account,
        id,
        format,
        query: filters,
        isHead: method === 'HEAD',
        signal: AbortSignal.any([gone, closing]),
        onError: (error) => logger.error({ requestId, evaluationId: id, err: error }, 'A file of attempts was cut off'),
      });
    },
  });
  const tasks = defineRoute({
    method: 'GET',
    path: '/v1/evaluations/:evaluation_id/tasks',
    summary: 'A row for each task and model: attempts, mean reward, how many passed; 1 to 1,000 a page, default 100',
    access,
    query: taskQuerySchema,
    response: taskListSchema,
    about: { errors: ['evaluation_not_found'] },
    handle: async ({ params, queryValues, caller }) => ({
      body: await evaluations.tasks(accountOf(caller), idOf(params), queryValues),
    }),
  });
  return [one, attempts, tasks];
}

function createControlRoutes({ evaluations, closing }: EvaluationRoutesOptions): readonly Route[] {
  const replyWith = async (
    { caller, params }: Pick<RouteRequest, 'caller' | 'params'>,
    change: (account: string, id: string) => Promise<void>,
  ): Promise<RouteReply> => {
    const [account, id] = [accountOf(caller), idOf(params)];
    await change(account, id);
    return { body: await evaluations.get(account, id) };
  };
  const errors: readonly ReplyErrorCode[] = ['evaluation_not_found', 'evaluation_finished'];
  const control = (verb: 'pause' | 'resume' | 'cancel', summary: string) =>
    defineRoute({
      method: 'POST',
      path: `/v1/evaluations/:evaluation_id/${verb}`,
      summary,
      access,
      response: evaluationDetailSchema,
      about: { errors },
      handle: (request) => replyWith(request, (account, id) => evaluations[verb](account, id)),
    });
  const rerun = defineRoute({
    method: 'POST',
    path: '/v1/evaluations/:evaluation_id/rerun',
    summary: 'Run attempts of these outcomes again; none of them may have a reward',
    access,
    request: rerunRequestSchema,
    response: evaluationDetailSchema,
    about: { errors: ['missing_required_parameter', ...errors] },
    handle: (request) => replyWith(request, (account, id) => evaluations.rerun(account, id, request.body.outcomes)),
  });
  const patch = defineRoute({
    method: 'PATCH',
    path: '/v1/evaluations/:evaluation_id',
    summary: 'Change concurrency or budget, or add attempts',
    access,
    request: evaluationPatchSchema,
    response: evaluationDetailSchema,
    about: { errors },
    handle: (request) => replyWith(request, (account, id) => evaluations.patch(account, id, request.body)),
  });
  const remove = defineRoute({
    method: 'DELETE',
    path: '/v1/evaluations/:evaluation_id',
    summary: 'Delete an evaluation with its traces; one that runs is cancelled first',
    access,
    about: { statuses: { 204: 'It is gone' }, errors: ['evaluation_not_found'] },
    async handle({ params, caller }) {
      await evaluations.remove(accountOf(caller), idOf(params), { signal: closing });
      return { status: 204 };
    },
  });
  return [
    control('pause', 'Begin no more attempts; those that run go on to their end'),
    control('resume', 'Go on with an evaluation that is paused'),
    control('cancel', 'End an evaluation and the attempts that run'),
    rerun,
    patch,
    remove,
  ];
}

function notWithFormat(param: 'limit' | 'cursor'): ApiError {
  return new ApiError(
    'invalid_parameter',
    `${param} is for pages, and format gives all attempts: leave one of them out.`,
    {
      param,
    },
  );
}

/** Id in the path. An invalid id is simply not found later. */
function idOf(params: Readonly<Record<string, string>>): string {
  return params.evaluation_id ?? '';
}

function toMilliseconds(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time);
}
