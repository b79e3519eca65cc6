import { z } from 'zod';
import { type UsageList, usageGroupBySchema, usageListSchema } from '../contract/totals.ts';
import { accountOf } from '../http/api-keys.ts';
import { defineRoute, type Route } from '../http/route.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import type { UsageQuery } from '../trace/usage.ts';
import { timeQuerySchema } from '../trace-routes/traces-route.ts';

const usageQuerySchema = z.object({
  since: timeQuerySchema,
  until: timeQuerySchema,
  group_by: usageGroupBySchema.optional(),
});

/** `GET /v1/usage`: what the runs of the caller's account have used. */
export function createUsageRoute(store: TraceStore): Route {
  return defineRoute({
    method: 'GET',
    path: '/v1/usage',
    summary: 'Runs, model calls, tokens and compute time of runs that have ended, every attempt counted',
    access: 'key-or-browser',
    query: usageQuerySchema,
    response: usageListSchema,
    async handle({ queryValues: { since, until, group_by: groupBy }, caller }) {
      const query: UsageQuery = {
        account: accountOf(caller),
        ...(since === undefined ? {} : { since: Date.parse(since) }),
        ...(until === undefined ? {} : { until: Date.parse(until) }),
        ...(groupBy === undefined ? {} : { groupBy }),
      };
      return { body: { object: 'list', data: [...(await store.usage(query))] } satisfies UsageList };
    },
  });
}
