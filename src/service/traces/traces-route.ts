import { z } from 'zod';
import { ApiError } from '../../contract/errors.ts';
import { TRACE_ID_PATTERN } from '../../contract/names.ts';
import { isEnded } from '../../contract/service/ended.ts';
import { outcomeSchema } from '../../contract/service/outcome.ts';
import { gradesQuerySchema } from '../../contract/service/replay.ts';
import { runStatusSchema } from '../../contract/service/run.ts';
import { totalsGroupBySchema, traceTotalsSchema } from '../../contract/service/totals.ts';
import {
  originSchema,
  type Trace,
  type TraceList,
  traceListSchema,
  traceSchema,
} from '../../contract/service/trace.ts';
import type { TraceQuery, TraceRow, TraceStore } from '../../store/traces/trace-store.ts';
import { accountOf } from '../../support/http/api/api-keys.ts';
import { defineRoute, type Route } from '../../support/http/api/route.ts';
import { MAX_WAIT_SECONDS, waitForTrace } from './wait-for-end.ts';

/** Access to traces. `browser`: only pages of this server may read them. */
export type TraceAccess = Extract<Route['access'], 'key-or-browser' | 'browser'>;

export interface TracesRouteOptions {
  readonly store: TraceStore;
  readonly access: TraceAccess;
  /** Aborted when the service shuts down, which ends all waits. */
  readonly closing: AbortSignal;
}

const waitQuerySchema = z.object({
  wait: z.int().min(0).max(MAX_WAIT_SECONDS).default(0),
  format: z.string().optional().meta({ description: 'As a file: atif, inspect, openai, trl or jsonl' }),
});

export const timeQuerySchema = z.iso.datetime({ offset: true }).optional();
/** Rejects zero characters, which the database cannot store. */
export const textQuerySchema = z
  .string()
  .regex(/^[^\0]+$/)
  .min(1)
  .optional();

const filterQuerySchema = z.object({
  env_name: textQuerySchema,
  scenario_name: textQuerySchema,
  model: textQuerySchema,
  status: runStatusSchema.optional(),
  origin: originSchema.optional(),
  evaluation_id: textQuerySchema,
  task_id: textQuerySchema,
  attempt_index: z.int().min(1).optional(),
  outcome: outcomeSchema.optional(),
  parent: textQuerySchema,
  grades: gradesQuerySchema.optional(),
  min_reward: z.number().optional(),
  max_reward: z.number().optional(),
  since: timeQuerySchema,
  until: timeQuerySchema,
});

const listQuerySchema = filterQuerySchema.extend({
  sort: z.enum(['created_at', 'reward', 'duration', 'tokens']).optional(),
  limit: z.int().min(1).max(100).optional(),
  cursor: textQuerySchema,
});

const METADATA_PREFIX = 'metadata.';
/** Most metadata filters of a query. Each is a lookup of its own, and planning many takes seconds. */
const MAX_METADATA_FILTERS = 10;
const QUERY_PREFIXES = { [METADATA_PREFIX]: 'Only traces whose metadata have this value for the key after the dot' };

/**
 * `GET /v1/traces`, `GET /v1/traces/summary`, and `GET` and `DELETE /v1/traces/{trace_id}`. A trace of another account
 * is not found.
 */
export function createTracesRoutes({ store, access, closing }: TracesRouteOptions): readonly Route[] {
  const one = defineRoute({
    method: 'GET',
    path: '/v1/traces/:trace_id',
    summary: 'A trace; with ?wait=N once its run has ended, or after N seconds',
    access,
    query: waitQuerySchema,
    response: traceSchema,
    about: {
      errors: ['trace_not_found', 'run_running'],
      replyHeaders: { 'x-proctor-lost': 'With a format: the fields that it cannot hold, each with its count' },
    },
    async handle({ params, queryValues, caller, signal }) {
      const account = accountOf(caller);
      const { wait: seconds, format } = queryValues;
      const trace = await findTrace(store, params.trace_id, account);
      if (seconds > 0) {
        await waitForTrace(store, trace.trace_id, { seconds, signal: AbortSignal.any([signal, closing]) });
      }
      const shown = seconds > 0 ? await findTrace(store, trace.trace_id, account) : trace;
      if (format === undefined) return { body: shown };
      // The formats are loaded only for an export.
      const { toExportReply } = await import('./export-reply.ts');
      return await toExportReply(store, shown, { format, account });
    },
  });
  const list = defineRoute({
    method: 'GET',
    path: '/v1/traces',
    summary: 'Traces without their steps and logs, newest first; metadata.<key>=<value> filters by metadata',
    access,
    query: listQuerySchema,
    response: traceListSchema,
    about: { queryPrefixes: QUERY_PREFIXES },
    async handle({ query, queryValues, caller }) {
      const filters = toTraceQuery(queryValues, toMetadata(query));
      const { data, nextCursor } = await store.list({ ...filters, account: accountOf(caller) });
      return { body: { object: 'list', data: [...data], next_cursor: nextCursor } satisfies TraceList };
    },
  });
  const summary = defineRoute({
    method: 'GET',
    path: '/v1/traces/summary',
    summary: 'What the traces of a list come to: counts, rewards and tokens; with group_by split, too',
    access,
    query: filterQuerySchema.extend({ group_by: totalsGroupBySchema.optional() }),
    response: traceTotalsSchema,
    about: { queryPrefixes: QUERY_PREFIXES },
    async handle({ query, queryValues, caller }) {
      const filters = toTraceQuery(queryValues, toMetadata(query));
      const groupBy = queryValues.group_by;
      return { body: await store.summary({ ...filters, account: accountOf(caller) }, { groupBy }) };
    },
  });
  const remove = defineRoute({
    method: 'DELETE',
    path: '/v1/traces/:trace_id',
    summary: 'Delete a trace of a run that has ended, with its events, metadata and blobs',
    access,
    about: { statuses: { 204: 'It is gone' }, errors: ['trace_not_found', 'run_running'] },
    async handle({ params, caller }) {
      const row = await findRow(store, params.trace_id, accountOf(caller));
      if (!isEnded(row.status)) throw runRunning(row);
      if (!(await store.remove(row.traceId))) throw traceNotFound(row.traceId); // Another request has deleted it.
      return { status: 204 };
    },
  });
  // `/summary` comes before the path with any id.
  return [list, summary, one, remove];
}

/** @throws ApiError trace_not_found, for a trace of another account too. */
export async function findRow(store: TraceStore, traceId: string | undefined, account: string): Promise<TraceRow> {
  const row = traceId !== undefined && TRACE_ID_PATTERN.test(traceId) ? await store.row(traceId) : undefined;
  if (row === undefined || row.account !== account) throw traceNotFound(traceId);
  return row;
}

function runRunning({ traceId, status }: TraceRow): ApiError {
  return new ApiError(
    'run_running',
    `The run of trace ${traceId} is ${status}: cancel it first (POST /v1/traces/${traceId}/cancel), or wait for its end.`,
  );
}

/**
 * @param param request field that names the trace; undefined if the path does.
 * @throws ApiError trace_not_found, for a trace of another account too.
 */
export async function findTrace(
  store: TraceStore,
  traceId: string | undefined,
  account: string,
  param?: string,
): Promise<Trace> {
  const isId = traceId !== undefined && TRACE_ID_PATTERN.test(traceId);
  const trace = isId ? await store.trace(traceId, account) : undefined;
  if (trace === undefined) throw traceNotFound(traceId, param);
  return trace;
}

export function traceNotFound(traceId: string | undefined, param?: string): ApiError {
  return new ApiError(
    'trace_not_found',
    `There is no trace ${JSON.stringify(traceId?.slice(0, 100) ?? '')}. GET /v1/traces lists those of this account.`,
    param === undefined ? {} : { param },
  );
}

function toTraceQuery(values: Partial<z.output<typeof listQuerySchema>>, metadata: Record<string, string>): TraceQuery {
  return withoutUndefined({
    envName: values.env_name,
    scenarioName: values.scenario_name,
    model: values.model,
    status: values.status,
    origin: values.origin,
    evaluationId: values.evaluation_id,
    taskId: values.task_id,
    attemptIndex: values.attempt_index,
    outcome: values.outcome,
    parent: values.parent,
    grades: values.grades,
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
  // The filter guarantees it.
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>;
}

function toMetadata(query: URLSearchParams): Record<string, string> {
  const metadata: Record<string, string> = {};
  for (const name of new Set(query.keys())) {
    if (!name.startsWith(METADATA_PREFIX)) continue;
    const key = name.slice(METADATA_PREFIX.length);
    const values = query.getAll(name);
    if (key === '' || values.length > 1 || `${key}${values[0]}`.includes('\0')) {
      throw new ApiError('invalid_parameter', `${name} has to be metadata.<key>=<value>, given once for each key.`, {
        param: name,
      });
    }
    Object.defineProperty(metadata, key, { value: values[0], enumerable: true });
  }
  const count = Object.keys(metadata).length;
  if (count > MAX_METADATA_FILTERS) {
    throw new ApiError(
      'invalid_parameter',
      `A list is filtered by ${MAX_METADATA_FILTERS} keys of metadata at most, got ${count}.`,
      { param: 'metadata' },
    );
  }
  return metadata;
}
