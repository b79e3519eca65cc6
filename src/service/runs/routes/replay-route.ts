import { ApiError } from '../../../contract/errors.ts';
import { replayRequestSchema } from '../../../contract/service/replay.ts';
import { type RunAccepted, runAcceptedSchema } from '../../../contract/service/run.ts';
import type { Catalogue } from '../../../environment/client/catalogue.ts';
import { assertEnded } from '../../../evaluation/replays/recorded-runs.ts';
import { toReplay } from '../../../evaluation/replays/replay/replay-request.ts';
import type { TraceStore } from '../../../store/traces/trace-store.ts';
import { accountOf } from '../../../support/http/api/api-keys.ts';
import { defineRoute, type Route, TRACE_ID_HEADER } from '../../../support/http/api/route.ts';
import { findRow } from '../../traces/traces-route.ts';
import type { NewRuns } from '../new-runs.ts';

export interface ReplayRouteOptions {
  readonly catalogue: Catalogue;
  readonly store: TraceStore;
  readonly runs: NewRuns;
  /** Address of the page of a trace. */
  toTraceUrl(traceId: string): string;
}

/** `POST /v1/traces/{trace_id}/replay`: starts a run that repeats the trace in the current environment. */
export function createReplayRoute({ catalogue, store, runs, toTraceUrl }: ReplayRouteOptions): Route {
  return defineRoute({
    method: 'POST',
    path: '/v1/traces/:trace_id/replay',
    summary: 'Repeat setup and tool calls of a trace that has ended, and compare what comes of it',
    access: 'key-or-browser',
    request: replayRequestSchema.optional(),
    response: runAcceptedSchema,
    about: {
      replyHeaders: { 'X-Svc-Trace-Id': 'The trace of the replay' },
      errors: ['trace_not_found', 'run_running', 'env_not_found', 'scenario_not_found', 'quota_exceeded'],
    },
    async handle({ params, caller, body }) {
      const row = await findRow(store, params.trace_id, accountOf(caller));
      assertEnded({ trace_id: row.traceId, status: row.status });
      const queued = toReplay(row, { envName: body?.env_name });
      checkKnown(queued.env_name, body?.env_name, catalogue);
      await catalogue.find(queued.env_name, queued.scenario_name);
      const traceId = await runs.create({ account: row.account, keyId: caller?.keyId ?? null, queued });
      const accepted = { trace_id: traceId, trace_url: toTraceUrl(traceId), status: 'queued' as const };
      return { headers: { [TRACE_ID_HEADER]: traceId }, body: accepted satisfies RunAccepted };
    },
  });
}

/** Checks that this service has the environment, since the trace may come from another one. */
function checkKnown(name: string, asked: string | undefined, catalogue: Catalogue): void {
  const known = catalogue.environments();
  if (known.includes(name)) return;
  const problem =
    asked === undefined
      ? `The trace was played in the environment ${JSON.stringify(name)}, which is not known here`
      : `There is no environment ${JSON.stringify(name)} here`;
  throw new ApiError('env_not_found', `${problem} (${known.join(', ') || 'there is none'}): name the one to use.`, {
    param: 'env_name',
  });
}
