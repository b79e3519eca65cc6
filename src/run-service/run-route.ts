import { randomBytes } from 'node:crypto';
import { type Catalogue, checkScenarioArgs } from '../client/catalogue.ts';
import type { EventOf } from '../contract/event.ts';
import { type RunAccepted, type RunRequest, runAcceptedSchema, runRequestSchema } from '../contract/run.ts';
import { accountOf } from '../http/api-keys.ts';
import { defineRoute, type Route } from '../http/route.ts';
import type { Models } from '../model/create-model.ts';
import type { RunQueue } from '../queue/run-queue.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import { parsePreferredWait } from './prefer.ts';
import { waitForEnd } from './wait-for-end.ts';

export interface RunRouteOptions {
  readonly catalogue: Catalogue;
  readonly models: Models;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  /** The trace's page. */
  toTraceUrl(traceId: string): string;
  /** Aborted when the service shuts down: nobody waits any longer. */
  readonly closing: AbortSignal;
}

/** `POST /v1/agent/run`: everything is checked before a run exists, and what was accepted is durable. */
export function createRunRoute(options: RunRouteOptions): Route {
  const { catalogue, models, store, queue } = options;
  return defineRoute({
    method: 'POST',
    path: '/v1/agent/run',
    summary: 'Run a scenario of an environment with a model',
    access: 'key',
    request: runRequestSchema,
    response: runAcceptedSchema,
    async handle({ body, caller, headers, signal }) {
      const scenario = await catalogue.find(body.env_name, body.scenario_name);
      checkScenarioArgs(scenario, body.scenario_args);
      models.check(body.model);

      const traceId = randomBytes(16).toString('hex');
      const queued = toQueued(body, scenario.short_name);
      await store.create({ traceId, account: accountOf(caller), queued }, (transaction) =>
        queue.enqueue({ traceId, priority: queued.priority }, transaction),
      );
      const accepted = { trace_id: traceId, trace_url: options.toTraceUrl(traceId) };

      const seconds = parsePreferredWait(headers.prefer);
      if (seconds === undefined) return { body: { ...accepted, status: 'queued' } satisfies RunAccepted };
      await waitForEnd(store, traceId, { seconds, signal: AbortSignal.any([signal, options.closing]) });
      return {
        headers: { 'preference-applied': `wait=${seconds}` },
        body: { ...accepted, ...(await toResult(store, traceId)) } satisfies RunAccepted,
      };
    },
  });
}

function toQueued(request: RunRequest, scenarioName: string): Omit<EventOf<'run.queued'>, 'type' | 'previous_end'> {
  return {
    origin: 'run',
    env_name: request.env_name,
    scenario_name: scenarioName,
    scenario_args: request.scenario_args,
    model: request.model,
    max_steps: request.max_steps,
    timeout_seconds: request.timeout_seconds,
    seed: request.seed,
    sampling: request.sampling,
    metadata: request.metadata,
    priority: request.priority,
  };
}

async function toResult(
  store: TraceStore,
  traceId: string,
): Promise<Pick<RunAccepted, 'status' | 'reward' | 'answer'>> {
  const trace = await store.trace(traceId);
  if (trace === undefined) throw new Error(`Trace ${traceId} is gone`);
  return { status: trace.status, reward: trace.reward, answer: trace.answer };
}
