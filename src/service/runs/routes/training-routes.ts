import { z } from 'zod';
import { isEnded } from '../../../contract/service/ended.ts';
import {
  type TrainingAccepted,
  trainerListSchema,
  trainingAcceptedSchema,
  trainingJobDetailSchema,
  trainingJobListSchema,
  trainingRequestSchema,
  trainingStatusSchema,
} from '../../../contract/service/training.ts';
import { checkSize } from '../../../contract/size-limits.ts';
import type { Catalogue } from '../../../environment/client/catalogue.ts';
import { checkTasks } from '../../../evaluation/tasks/check-tasks.ts';
import type { Tasksets } from '../../../evaluation/tasks/find-tasksets.ts';
import { Idempotency } from '../../../store/accounts/idempotency.ts';
import type { Database } from '../../../store/database/database.ts';
import { accountOf } from '../../../support/http/api/api-keys.ts';
import { defineRoute, type Route } from '../../../support/http/api/route.ts';
import type { Training } from '../../../training/training.ts';
import { defineEventStream, type StreamRouteOptions } from '../../traces/event-stream-route.ts';
import { textQuerySchema } from '../../traces/traces-route.ts';
import { MAX_WAIT_SECONDS } from '../../traces/wait-for-end.ts';
import { checkMetadata } from './check-metadata.ts';

export interface TrainingRoutesOptions extends StreamRouteOptions {
  readonly training: Training;
  readonly catalogue: Catalogue;
  readonly tasksets: Tasksets;
  readonly database: Database;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const access = 'key-or-browser';

/** All routes of `/v1/training`. A job of another account is not found. */
export function createTrainingRoutes(options: TrainingRoutesOptions): readonly Route[] {
  return [createBeginRoute(options), ...createReadRoutes(options), createEventsRoute(options)];
}

function createBeginRoute({ training, catalogue, tasksets, database, now }: TrainingRoutesOptions): Route {
  const idempotency = new Idempotency<TrainingAccepted>({
    database,
    scope: 'training',
    now,
    // Always true, since jobs are not deleted.
    isAlive: async () => true,
  });
  return defineRoute({
    method: 'POST',
    path: '/v1/training/jobs',
    summary: 'Train a model on successful runs: everything is checked before the job exists',
    access,
    request: trainingRequestSchema,
    response: trainingAcceptedSchema,
    about: {
      requestHeaders: {
        'Idempotency-Key': 'The same request with the same key gets the same answer for 24 hours, and makes one job',
      },
      errors: [
        'missing_required_parameter',
        'provider_not_found',
        'evaluation_not_found',
        'taskset_not_found',
        'model_not_found',
        'held_out_task',
        'name_taken',
        'idempotency_conflict',
        'capacity_exceeded',
        'store_unavailable',
      ],
    },
    async handle({ body: request, caller, headers, json, signal }) {
      checkSize('hyperparameters', request.hyperparameters);
      checkMetadata(request.metadata);
      const beginning = {
        account: accountOf(caller),
        keyId: caller?.keyId ?? null,
        request,
        tasksets,
        signal,
        checkTasks: (taskset: Parameters<typeof checkTasks>[0], within: AbortSignal) =>
          checkTasks(taskset, catalogue, within),
      };
      const key = headers['idempotency-key'];
      if (typeof key !== 'string') return { body: await training.begin(beginning) };
      const place = { account: accountOf(caller), key };
      const { answer } = await idempotency.once(place, json, signal, (keep) =>
        training.begin({ ...beginning, inTransaction: keep }),
      );
      return { body: answer };
    },
  });
}

function createReadRoutes({ training, closing }: TrainingRoutesOptions): readonly Route[] {
  const { jobs } = training;
  const trainers = defineRoute({
    method: 'GET',
    path: '/v1/training/providers',
    summary: 'The trainers of this service, with what they take',
    access,
    response: trainerListSchema,
    handle: () => ({ body: training.trainers }),
  });
  const list = defineRoute({
    method: 'GET',
    path: '/v1/training/jobs',
    summary: 'Training jobs, newest first',
    access,
    query: z.object({
      limit: z.int().optional(),
      cursor: textQuerySchema,
      status: trainingStatusSchema.optional(),
      name: textQuerySchema,
    }),
    response: trainingJobListSchema,
    handle: async ({ queryValues, caller }) => ({ body: await jobs.list(accountOf(caller), queryValues) }),
  });
  const one = defineRoute({
    method: 'GET',
    path: '/v1/training/jobs/:job_id',
    summary: 'A training job with its newest events and metrics; with ?wait=N once it has ended, or after N seconds',
    access,
    query: z.object({ wait: z.int().min(0).max(MAX_WAIT_SECONDS).default(0) }),
    response: trainingJobDetailSchema,
    about: { errors: ['job_not_found'] },
    async handle({ params, queryValues, caller, signal: gone }) {
      const [account, id] = [accountOf(caller), idOf(params)];
      const signal = AbortSignal.any([gone, closing]);
      await jobs.waitForEnd(account, id, { seconds: queryValues.wait, signal });
      return { body: await jobs.get(account, id) };
    },
  });
  const cancel = defineRoute({
    method: 'POST',
    path: '/v1/training/jobs/:job_id/cancel',
    summary: 'End a training job: its provider is told, and a model that is finished already stays',
    access,
    response: trainingJobDetailSchema,
    about: { errors: ['job_not_found', 'run_finished'] },
    async handle({ params, caller }) {
      const [account, id] = [accountOf(caller), idOf(params)];
      await jobs.cancel(account, id);
      return { body: await jobs.get(account, id) };
    },
  });
  return [trainers, list, one, cancel];
}

function createEventsRoute(options: TrainingRoutesOptions): Route {
  const { jobs } = options.training;
  return defineEventStream(
    {
      path: '/v1/training/jobs/:job_id/events',
      summary: 'The events of a training job as they come, as server-sent events, until it has ended',
      access,
      over: 'The job has ended, and there is none after Last-Event-ID',
      errors: ['job_not_found'],
      async open(params, account) {
        const jobId = idOf(params);
        await jobs.status(account, jobId);
        return {
          source: {
            read: (after, limit) => jobs.events(account, jobId, { after, limit }),
            async isOver(after) {
              // The status is read before the events: an ended job writes no more.
              const status = await jobs.status(account, jobId);
              return isEnded(status) && (await jobs.events(account, jobId, { after, limit: 1 })).length === 0;
            },
          },
          label: { jobId },
        };
      },
    },
    options,
  );
}

function idOf(params: Readonly<Record<string, string>>): string {
  return params.job_id ?? '';
}
