import { z } from 'zod';
import {
  type FinishedSession,
  finishRequestSchema,
  finishResultSchema,
  type SessionEntry,
  sessionEntrySchema,
  sessionListSchema,
  toSessionIds,
} from '../../contract/session.ts';
import { accountOf } from '../../support/http/api/api-keys.ts';
import { defineRoute, type Route } from '../../support/http/api/route.ts';
import { type SessionRecord, toRecord } from './session-records.ts';
import type { SessionRegistry } from './session-registry.ts';

export interface SessionRoutesOptions {
  readonly registry: SessionRegistry;
  toTraceUrl(traceId: string): string;
  readonly now: () => number;
}

/** `/v1/sessions`: routes to list, read, finish and delete sessions. */
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
      const account = accountOf(caller);
      const records = status === 'all' ? await registry.list(account) : registry.active(account).map(toRecord);
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
      body: toEntry(await registry.record(accountOf(caller), params.session_id ?? '')),
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
      body: toFinishedSession(
        await registry.finish(accountOf(caller), params.session_id ?? '', body?.answer),
        toTraceUrl,
      ),
    }),
  });
  const remove = defineRoute({
    method: 'DELETE',
    path: '/v1/sessions/:session_id',
    summary: 'Abandon a session without evaluating it',
    access: 'key-or-browser',
    response: sessionEntrySchema,
    handle: async ({ params, caller }) => ({
      body: toEntry(await registry.abandon(accountOf(caller), params.session_id ?? '')),
    }),
  });
  return [list, one, finish, remove];
}

/** The reply of a finish request. @throws Error for a session that was not evaluated. */
export function toFinishedSession(
  { id, traceId, status, result }: SessionRecord,
  toTraceUrl: (traceId: string) => string,
): FinishedSession {
  if (result === null || (status !== 'finished' && status !== 'expired')) throw new Error(`Session ${id} is ${status}`);
  const { answer, evaluation } = result;
  return {
    ...toSessionIds(id),
    answer,
    reward: evaluation.reward,
    evaluation,
    trace_id: traceId,
    trace_url: toTraceUrl(traceId),
    status,
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
