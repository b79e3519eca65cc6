import { randomBytes } from 'node:crypto';
import type { Catalogue } from '../client/catalogue.ts';
import { type RunAccepted, runAcceptedSchema } from '../contract/run.ts';
import { accountOf } from '../http/api-keys.ts';
import { defineRoute, type Route, TRACE_ID_HEADER } from '../http/route.ts';
import type { RunQueue } from '../queue/run-queue.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import { findRow } from '../trace-routes/traces-route.ts';
import { assertEnded } from '../trust/recorded-runs.ts';
import { toReplay } from '../trust/replay/replay-request.ts';
import type { QueuedQuota } from './queued-quota.ts';

export interface ReplayRouteOptions {
  readonly catalogue: Catalogue;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  readonly quota: QueuedQuota;
  /** The trace's page. */
  toTraceUrl(traceId: string): string;
}

/** `POST /v1/traces/{trace_id}/replay`: a run like any other, that repeats the trace in the environment of today. */
export function createReplayRoute({ catalogue, store, queue, quota, toTraceUrl }: ReplayRouteOptions): Route {
  return defineRoute({
    method: 'POST',
    path: '/v1/traces/:trace_id/replay',
    summary: 'Repeat setup and tool calls of a trace that has ended, and compare what comes of it',
    access: 'key-or-browser',
    response: runAcceptedSchema,
    about: {
      replyHeaders: { 'X-Svc-Trace-Id': 'The trace of the replay' },
      errors: ['trace_not_found', 'run_running', 'env_not_found', 'scenario_not_found', 'quota_exceeded'],
    },
    async handle({ params, caller }) {
      const row = await findRow(store, params.trace_id, accountOf(caller));
      assertEnded({ trace_id: row.traceId, status: row.status });
      const queued = toReplay(row);
      await catalogue.find(queued.env_name, queued.scenario_name);
      const keyId = caller?.keyId ?? null;
      const traceId = randomBytes(16).toString('hex');
      const entry = { traceId, priority: queued.priority, envName: queued.env_name, keyId };
      await quota.within(keyId, () =>
        store.create({ traceId, account: row.account, keyId, queued }, (transaction) =>
          queue.enqueue(entry, transaction),
        ),
      );
      const accepted = { trace_id: traceId, trace_url: toTraceUrl(traceId), status: 'queued' as const };
      return { headers: { [TRACE_ID_HEADER]: traceId }, body: accepted satisfies RunAccepted };
    },
  });
}
