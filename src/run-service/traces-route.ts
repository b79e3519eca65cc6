import { z } from 'zod';
import { ApiError } from '../contract/errors.ts';
import { TRACE_ID_PATTERN } from '../contract/names.ts';
import { runStatusSchema } from '../contract/run.ts';
import { originSchema, type Trace, type TraceList, traceListSchema, traceSchema } from '../contract/trace.ts';
import { accountOf } from '../http/api-keys.ts';
import { defineRoute, type Route } from '../http/route.ts';
import type { TraceQuery, TraceStore } from '../trace/trace-store.ts';
import { MAX_WAIT_SECONDS, waitForEnd } from './wait-for-end.ts';

export interface TracesRouteOptions {
  readonly store: TraceStore;
  /** Aborted when the service shuts down: nobody waits any longer. */
  readonly closing: AbortSignal;
}

const waitQuerySchema = z.object({ wait: z.int().min(0).max(MAX_WAIT_SECONDS).default(0) });

const timeQuerySchema = z.iso.datetime({ offset: true }).optional();
const textQuerySchema = z.string().min(1).optional();

const listQuerySchema = z.object({
  env_name: textQuerySchema,
  scenario_name: textQuerySchema,
  model: textQuerySchema,
  status: runStatusSchema.optional(),
  origin: originSchema.optional(),
  min_reward: z.number().optional(),
  max_reward: z.number().optional(),
  since: timeQuerySchema,
  until: timeQuerySchema,
  sort: z.enum(['created_at', 'reward', 'duration', 'tokens']).optional(),
  limit: z.int().min(1).max(100).optional(),
  cursor: textQuerySchema,
});

/** `GET /v1/traces/{trace_id}` and `GET /v1/traces`. What belongs to another account is not found. */
export function createTracesRoutes({ store, closing }: TracesRouteOptions): readonly Route[] {
  const one = defineRoute({
    method: 'GET',
    path: '/v1/traces/:trace_id',
    summary: 'A trace; with ?wait=N once its run has ended, or after N seconds',
    access: 'key-or-browser',
    query: waitQuerySchema,
    response: traceSchema,
    async handle({ params, queryValues, caller, signal }) {
      const trace = await findTrace(store, params.trace_id, accountOf(caller));
      if (queryValues.wait === 0) return { body: trace };
      await waitForEnd(store, trace.trace_id, {
        seconds: queryValues.wait,
        signal: AbortSignal.any([signal, closing]),
      });
      return { body: await findTrace(store, trace.trace_id, accountOf(caller)) };
    },
  });
  const list = defineRoute({
    method: 'GET',
    path: '/v1/traces',
    summary: 'Traces without their steps and logs, newest first; metadata.<key>=<value> filters by metadata',
    access: 'key-or-browser',
    query: listQuerySchema,
    response: traceListSchema,
    async handle({ query, queryValues, caller }) {
      const filters = toTraceQuery(queryValues, toMetadata(query));
      const { data, nextCursor } = await store.list({ ...filters, account: accountOf(caller) });
      return { body: { object: 'list', data: [...data], next_cursor: nextCursor } satisfies TraceList };
    },
  });
  return [list, one];
}

/** @throws ApiError trace_not_found, for a trace of another account too. */
export async function findTrace(store: TraceStore, traceId: string | undefined, account: string): Promise<Trace> {
  const isId = traceId !== undefined && TRACE_ID_PATTERN.test(traceId);
  const trace = isId ? await store.trace(traceId, account) : undefined;
  if (trace === undefined) throw traceNotFound(traceId);
  return trace;
}

export function traceNotFound(traceId: string | undefined): ApiError {
  return new ApiError(
    'trace_not_found',
    `There is no trace ${JSON.stringify(traceId?.slice(0, 100) ?? '')}. GET /v1/traces lists those of this account.`,
  );
}

function toTraceQuery(values: z.output<typeof listQuerySchema>, metadata: Record<string, string>): TraceQuery {
  return withoutUndefined({
    envName: values.env_name,
    scenarioName: values.scenario_name,
    model: values.model,
    status: values.status,
    origin: values.origin,
    minReward: values.min_reward,
    maxReward: values.max_reward,
    since: values.since === undefined ? undefined : Date.parse(values.since),
    until: values.until === undefined ? undefined : Date.parse(values.until),
    sort: values.sort,
    limit: values.limit,
    cursor: values.cursor,
    metadata,
  });
}

type Defined<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

function withoutUndefined<T extends object>(values: T): Defined<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>; // By the filter.
}

const METADATA_PREFIX = 'metadata.';

function toMetadata(query: URLSearchParams): Record<string, string> {
  const metadata: Record<string, string> = {};
  for (const name of new Set(query.keys())) {
    if (!name.startsWith(METADATA_PREFIX)) continue;
    const key = name.slice(METADATA_PREFIX.length);
    const values = query.getAll(name);
    if (key === '' || values.length > 1) {
      throw new ApiError('invalid_parameter', `${name} has to be metadata.<key>=<value>, given once for each key.`, {
        param: name,
      });
    }
    Object.defineProperty(metadata, key, { value: values[0], enumerable: true });
  }
  return metadata;
}
