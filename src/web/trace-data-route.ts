import { z } from 'zod';
import { ApiError } from '../contract/errors.ts';
import { TRACE_ID_PATTERN } from '../contract/names.ts';
import type { TraceStore } from '../store/traces/trace-store.ts';
import { accountOf } from '../support/http/api/api-keys.ts';
import { defineRoute, type Route } from '../support/http/api/route.ts';

/** A first reply is small, so that something is to be read at once; those after it are for the rest. In characters of JSON. */
const FIRST_REPLY_LENGTH = 384 * 1024;
const NEXT_REPLY_LENGTH = 2 * 1024 * 1024;
/** Events that are read from the store at once. */
const PAGE = 50;

/**
 * `GET /data/traces/{trace_id}?after=N`, for the page of a trace: its events after this number, as many as make a reply of
 * some size, and with the first reply the trace without steps and logs: `{trace?, events, next}`. `next` is what to ask
 * for after it, null at the end of what is stored.
 */
export function createTraceDataRoute(store: TraceStore): Route {
  return defineRoute({
    method: 'GET',
    path: '/data/traces/:trace_id',
    summary: 'A trace and its events, for its page',
    access: 'browser',
    query: z.object({ after: z.int().min(0).default(0) }),
    async handle({ params, queryValues: { after }, caller }) {
      const traceId = params.trace_id ?? '';
      const isId = TRACE_ID_PATTERN.test(traceId);
      // With each reply, since it says whose the trace is. What has ended costs one row.
      const trace = isId ? await store.traceSummary(traceId, accountOf(caller)) : undefined;
      if (trace === undefined)
        throw new ApiError('trace_not_found', `There is no trace ${JSON.stringify(traceId.slice(0, 100))}.`);
      const { texts, next } = await readSome(store, traceId, after);
      const head = after === 0 ? `"trace":${JSON.stringify(trace)},` : '';
      return {
        headers: { 'content-type': 'application/json; charset=utf-8' },
        body: `{${head}"events":[${texts.join(',')}],"next":${next}}`,
      };
    },
  });
}

async function readSome(store: TraceStore, traceId: string, after: number) {
  const limit = after === 0 ? FIRST_REPLY_LENGTH : NEXT_REPLY_LENGTH;
  const texts: string[] = [];
  let length = 0;
  let last = after;
  for (;;) {
    const events = await store.events(traceId, { after: last, limit: PAGE });
    for (const event of events) {
      const text = JSON.stringify(event);
      texts.push(text);
      length += text.length;
      last = event.seq;
      if (length >= limit) return { texts, next: last };
    }
    if (events.length < PAGE) return { texts, next: null };
  }
}
