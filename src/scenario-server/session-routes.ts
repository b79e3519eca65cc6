import { z } from 'zod';
import type { Json } from '../contract/json.ts';
import {
  type FinishedSession,
  finishRequestSchema,
  finishResultSchema,
  type SessionEntry,
  sessionEntrySchema,
  sessionListSchema,
  toSessionIds,
} from '../contract/session.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { sessionFinished } from '../rollout/session-end.ts';
import type { SessionRecord } from './session-records.ts';
import { type SessionRegistry, toRecord } from './session-registry.ts';

export interface SessionRoutesOptions {
  readonly registry: SessionRegistry;
  toTraceUrl(traceId: string): string;
  readonly now: () => number;
}

/** `/v1/sessions`: list, one, finish, delete. */
export function createSessionRoutes(options: SessionRoutesOptions): readonly Route[] {
  const { registry, toTraceUrl, now } = options;
  const toEntry = (record: SessionRecord) => toSessionEntry(record, toTraceUrl, now());
  const list = defineRoute({
    method: 'GET',
    path: '/v1/sessions',
    summary: 'The active sessions, or every one',
    access: 'key',
    query: z.object({ status: z.enum(['active', 'all']).default('active') }),
    response: sessionListSchema,
    async handle({ queryValues: { status } }) {
      const records = status === 'all' ? await registry.list() : registry.active.map(toRecord);
      return { body: { object: 'list', sessions: records.map(toEntry) } };
    },
  });
  const one = defineRoute({
    method: 'GET',
    path: '/v1/sessions/:session_id',
    summary: 'A session',
    access: 'key',
    response: sessionEntrySchema,
    handle: async ({ params }) => ({ body: toEntry(await registry.record(params.session_id ?? '')) }),
  });
  const finish = defineRoute({
    method: 'POST',
    path: '/v1/sessions/:session_id/finish',
    summary: 'Submit the answer of a session and evaluate it',
    access: 'key',
    request: finishRequestSchema,
    response: finishResultSchema,
    handle: async ({ params, body }) => ({
      body: await finishSession(registry, params.session_id ?? '', body?.answer, toTraceUrl),
    }),
  });
  const remove = defineRoute({
    method: 'DELETE',
    path: '/v1/sessions/:session_id',
    summary: 'Abandon a session without evaluating it',
    access: 'key',
    response: sessionEntrySchema,
    async handle({ params }) {
      const id = params.session_id ?? '';
      const session = registry.active.find((active) => active.id === id);
      if (session !== undefined) await session.abandon();
      const record = await registry.record(id);
      if (record.status !== 'abandoned') throw sessionFinished(id, record);
      return { body: toEntry(record) };
    },
  });
  return [list, one, finish, remove];
}

/**
 * Finishes a session, once: later calls get the same object, also after a restart of the server.
 *
 * @throws ApiError session_not_found, session_busy, or session_finished for one that was not evaluated; BoundaryError
 *   where the evaluation fails.
 */
export async function finishSession(
  registry: SessionRegistry,
  id: string,
  answer: Json | undefined,
  toTraceUrl: (traceId: string) => string,
): Promise<FinishedSession> {
  const session = registry.active.find((active) => active.id === id);
  await session?.finish(answer);
  const record = await registry.record(id);
  if (record.result === null || (record.status !== 'finished' && record.status !== 'expired')) {
    if (record.status === 'active') await registry.find(id);
    throw sessionFinished(id, record);
  }
  return {
    ...toSessionIds(id),
    answer: record.result.answer,
    reward: record.result.evaluation.reward,
    evaluation: record.result.evaluation,
    trace_id: record.traceId,
    trace_url: toTraceUrl(record.traceId),
    status: record.status,
  };
}

function toSessionEntry(record: SessionRecord, toTraceUrl: (traceId: string) => string, now: number): SessionEntry {
  return {
    ...toSessionIds(record.id),
    trace_id: record.traceId,
    trace_url: toTraceUrl(record.traceId),
    scenario: record.scenario,
    scenario_args: record.args,
    model: record.model,
    status: record.status,
    created_at: new Date(record.createdAt).toISOString(),
    last_active_at: new Date(record.lastActiveAt).toISOString(),
    idle_seconds: Math.max(0, Math.floor((now - record.lastActiveAt) / 1_000)),
    turns: record.turns,
    steps: record.steps,
  };
}
