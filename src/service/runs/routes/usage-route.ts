import { z } from 'zod';
import { type UsageList, usageGroupBySchema, usageListSchema } from '../../../contract/service/totals.ts';
import type { TraceStore } from '../../../store/traces/trace-store.ts';
import type { UsageQuery } from '../../../store/traces/usage.ts';
import { accountOf } from '../../../support/http/api/api-keys.ts';
import { defineRoute, type Route } from '../../../support/http/api/route.ts';
import { timeQuerySchema } from '../../traces/traces-route.ts';

const usageQuerySchema = z.object({
  since: timeQuerySchema,
  until: timeQuerySchema,
  group_by: usageGroupBySchema.optional(),
});

/** `GET /v1/usage`: tokens and costs of the caller's account. */
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
