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
import { accountOf } from '../http/api-keys.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { sessionFinished } from '../rollout/session-end.ts';
import type { AccountSessions } from './account-sessions.ts';
import { type SessionRecord, toRecord } from './session-records.ts';
import type { SessionRegistry } from './session-registry.ts';

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
    access: 'key-or-browser',
    query: z.object({ status: z.enum(['active', 'all']).default('active') }),
    response: sessionListSchema,
    async handle({ queryValues: { status }, caller }) {
      const sessions = registry.of(accountOf(caller));
      const records = status === 'all' ? await sessions.list() : sessions.active.map(toRecord);
      return { body: { object: 'list', sessions: records.map(toEntry) } };
    },
  });
  const one = defineRoute({
    method: 'GET',
    path: '/v1/sessions/:session_id',
    summary: 'A session',
    access: 'key-or-browser',
    response: sessionEntrySchema,
    handle: async ({ params, caller }) => ({
      body: toEntry(await registry.of(accountOf(caller)).record(params.session_id ?? '')),
    }),
  });
  const finish = defineRoute({
    method: 'POST',
    path: '/v1/sessions/:session_id/finish',
    summary: 'Submit the answer of a session and evaluate it',
    access: 'key-or-browser',
    request: finishRequestSchema,
    response: finishResultSchema,
    handle: async ({ params, body, caller }) => ({
      body: await finishSession(registry.of(accountOf(caller)), params.session_id ?? '', body?.answer, toTraceUrl),
    }),
  });
  const remove = defineRoute({
    method: 'DELETE',
    path: '/v1/sessions/:session_id',
    summary: 'Abandon a session without evaluating it',
    access: 'key-or-browser',
    response: sessionEntrySchema,
    async handle({ params, caller }) {
      const id = params.session_id ?? '';
      const sessions = registry.of(accountOf(caller));
      await sessions.held(id)?.abandon();
      const record = await sessions.record(id);
      if (record.status === 'active') await sessions.find(id);
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
  sessions: AccountSessions,
  id: string,
  answer: Json | undefined,
  toTraceUrl: (traceId: string) => string,
): Promise<FinishedSession> {
  await sessions.held(id)?.finish(answer);
  const record = await sessions.record(id);
  if (record.result === null || (record.status !== 'finished' && record.status !== 'expired')) {
    if (record.status === 'active') await sessions.find(id);
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
