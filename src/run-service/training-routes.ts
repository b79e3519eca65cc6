import { z } from 'zod';
import { Idempotency } from '../accounts/idempotency.ts';
import type { Catalogue } from '../client/catalogue.ts';
import { checkSize } from '../contract/size-limits.ts';
import {
  type TrainingAccepted,
  trainerListSchema,
  trainingAcceptedSchema,
  trainingJobListSchema,
  trainingJobSchema,
  trainingRequestSchema,
  trainingStatusSchema,
} from '../contract/training.ts';
import { isTrainingEnd } from '../contract/training-states.ts';
import type { Database } from '../database/database.ts';
import { accountOf } from '../http/api-keys.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { checkTasks } from '../tasks/check-tasks.ts';
import type { Tasksets } from '../tasks/find-tasksets.ts';
import { defineEventStream, type StreamRouteOptions } from '../trace-routes/event-stream-route.ts';
import { textQuerySchema } from '../trace-routes/traces-route.ts';
import { MAX_WAIT_SECONDS } from '../trace-routes/wait-for-end.ts';
import type { Training } from '../training/training.ts';
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

/** Everything of `/v1/training`. What belongs to another account is not found. */
export function createTrainingRoutes(options: TrainingRoutesOptions): readonly Route[] {
  return [createBeginRoute(options), ...createReadRoutes(options), createEventsRoute(options)];
}

function createBeginRoute({ training, catalogue, tasksets, database, now }: TrainingRoutesOptions): Route {
  const idempotency = new Idempotency<TrainingAccepted>({
    database,
    scope: 'training',
    now,
    // Jobs are not deleted.
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
        'request_in_progress',
        'store_unavailable',
      ],
    },
    async handle({ body: request, caller, headers, json, signal }) {
      checkSize('hyperparameters', request.hyperparameters);
      checkMetadata(request.metadata);
      const beginning = {
        ...{ account: accountOf(caller), keyId: caller?.keyId ?? null, request, tasksets, signal },
        checkTasks: (taskset: Parameters<typeof checkTasks>[0], within: AbortSignal) =>
          checkTasks(taskset, catalogue, within),
      };
      const key = headers['idempotency-key'];
      if (typeof key !== 'string') return { body: await training.begin(beginning) };
      const place = { account: accountOf(caller), key };
      const { answer } = await idempotency.once(place, json, (keep) =>
        training.begin({ ...beginning, alongside: keep }),
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
    summary: 'A training job; with ?wait=N once it has ended, or after N seconds',
    access,
    query: z.object({ wait: z.int().min(0).max(MAX_WAIT_SECONDS).default(0) }),
    response: trainingJobSchema,
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
    response: trainingJobSchema,
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
        await jobs.get(account, jobId);
        return {
          source: {
            read: (after, limit) => jobs.events(account, jobId, { after, limit }),
            async isOver(after) {
              // Read before its events: once it has ended, no more are written.
              const { status } = await jobs.get(account, jobId);
              return isTrainingEnd(status) && (await jobs.events(account, jobId, { after, limit: 1 })).length === 0;
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
