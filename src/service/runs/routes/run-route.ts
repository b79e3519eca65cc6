import { ApiError } from '../../../contract/errors.ts';
import type { ResolvedModel } from '../../../contract/model.ts';
import {
  modelNameSchema,
  type RunAccepted,
  type RunBody,
  type RunRequest,
  runAcceptedSchema,
  runBodySchema,
  runRequestSchema,
} from '../../../contract/service/run.ts';
import { checkSize } from '../../../contract/size-limits.ts';
import type { Catalogue } from '../../../environment/client/catalogue.ts';
import { checkScenarioArgs } from '../../../environment/client/scenario-args.ts';
import type { ForkedRequest } from '../../../evaluation/replays/fork/fork-request.ts';
import type { Models } from '../../../models/gateway/create-model.ts';
import type { Agents } from '../../../rollout/agents/agents.ts';
import { toQueuedRun } from '../../../rollout/session/queued-run.ts';
import { Idempotency } from '../../../store/accounts/idempotency.ts';
import type { Database, DatabaseTransaction } from '../../../store/database/database.ts';
import { RegisteredModels } from '../../../store/models/registered-models.ts';
import type { TraceStore } from '../../../store/traces/trace-store.ts';
import { accountOf } from '../../../support/http/api/api-keys.ts';
import {
  defineRoute,
  type Route,
  type RouteReply,
  type RouteRequest,
  TRACE_ID_HEADER,
} from '../../../support/http/api/route.ts';
import { parseBody } from '../../../support/http/api/validation.ts';
import { findRow, findTrace, traceNotFound } from '../../traces/traces-route.ts';
import { waitForTrace } from '../../traces/wait-for-end.ts';
import type { NewRuns } from '../new-runs.ts';
import { checkAgent } from '../worker/check-agent.ts';
import { checkRunHarness } from '../worker/check-harness-needs.ts';
import { checkMetadata } from './check-metadata.ts';
import { parsePreferredWait } from './prefer.ts';

export interface RunRouteOptions {
  readonly catalogue: Catalogue;
  readonly models: Models;
  readonly agents: Agents | undefined;
  readonly database: Database;
  readonly store: TraceStore;
  readonly runs: NewRuns;
  /** True lets a caller name any program of this machine as its agent. */
  readonly allowsCommands: boolean;
  /** Address of the page of a trace. */
  toTraceUrl(traceId: string): string;
  /** Aborted when the service shuts down, which ends all waits. */
  readonly closing: AbortSignal;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Id and page of an accepted run. */
type RunAddress = Pick<RunAccepted, 'trace_id' | 'trace_url'>;
type Incoming = RouteRequest<RunBody>;

/** `POST /v1/agent/run`. A run is created only after all checks, and an accepted run is durable. */
export function createRunRoute(options: RunRouteOptions): Route {
  const runs = new Runs(options);
  return defineRoute({
    method: 'POST',
    path: '/v1/agent/run',
    summary: 'Run a scenario of an environment with a model, or with an agent and a model',
    access: 'key-or-browser',
    request: runBodySchema,
    response: runAcceptedSchema,
    about: {
      requestHeaders: {
        Prefer: '`wait=N`: answer when the run ends, or after N seconds, at most 240',
        'Idempotency-Key':
          'The same request with the same key gets the same answer for 24 hours, and starts one run, as long as its trace exists',
      },
      replyHeaders: {
        'Preference-Applied': 'The `wait` that was taken',
        'X-Svc-Trace-Id': 'The run',
      },
      errors: [
        'missing_required_parameter',
        'invalid_scenario_args',
        'env_not_found',
        'scenario_not_found',
        'model_not_found',
        'agent_not_found',
        'trace_not_found',
        'run_running',
        'idempotency_conflict',
        'capacity_exceeded',
        'quota_exceeded',
        'environment_failed',
        'store_unavailable',
      ],
    },
    handle: (request) => runs.handle(request),
  });
}

class Runs {
  readonly #options: RunRouteOptions;
  readonly #registered: RegisteredModels;
  readonly #idempotency: Idempotency<RunAddress>;

  constructor(options: RunRouteOptions) {
    this.#options = options;
    this.#registered = new RegisteredModels(options.database);
    this.#idempotency = new Idempotency({
      database: options.database,
      scope: 'run',
      now: options.now,
      isAlive: async ({ trace_id }) => (await options.store.row(trace_id)) !== undefined,
    });
  }

  async handle(request: Incoming): Promise<RouteReply> {
    const accepted = await this.#accept(request);
    const seconds = parsePreferredWait(request.headers.prefer);
    const about = { [TRACE_ID_HEADER]: accepted.trace_id };
    if (seconds === undefined) return { headers: about, body: { ...accepted, status: 'queued' } satisfies RunAccepted };
    const { store, closing } = this.#options;
    const signal = AbortSignal.any([request.signal, closing]);
    await waitForTrace(store, accepted.trace_id, { seconds, signal });
    return {
      headers: { ...about, 'preference-applied': `wait=${seconds}` },
      body: { ...accepted, ...(await toResult(store, accepted.trace_id)) } satisfies RunAccepted,
    };
  }

  /** Creates a run, or finds the one that an earlier request with the same idempotency key created. */
  async #accept(request: Incoming): Promise<RunAddress> {
    const key = request.headers['idempotency-key'];
    if (typeof key !== 'string') return await this.#start(request);
    const place = { account: accountOf(request.caller), key };
    const { answer } = await this.#idempotency.once(place, request.json, request.signal, (keep) =>
      this.#start(request, keep),
    );
    return answer;
  }

  async #start(
    { body: given, caller }: Incoming,
    keep?: (transaction: DatabaseTransaction, accepted: RunAddress) => Promise<void>,
  ): Promise<RunAddress> {
    const { catalogue, models, store, runs, toTraceUrl } = this.#options;
    const body = await toRequest(given, store, accountOf(caller));
    const scenario = await catalogue.find(body.env_name, body.scenario_name);
    checkScenarioArgs(scenario, body.scenario_args);
    const model = await this.#modelOf(body, accountOf(caller));
    checkRunHarness(scenario, body, models);
    checkSize('sampling', body.sampling);
    checkMetadata(body.metadata);
    const parent =
      given.fork && (await import('../../../evaluation/replays/replay/replay-request.ts')).toForkParent(given.fork);
    const queued = toQueuedRun({ ...body, origin: 'run', scenario_name: scenario.short_name, model, parent });
    const toAccepted = (id: string) => ({ trace_id: id, trace_url: toTraceUrl(id) });
    const traceId = await runs.create(
      { account: accountOf(caller), keyId: caller?.keyId ?? null, queued },
      async (transaction, id) => await keep?.(transaction, toAccepted(id)),
    );
    return toAccepted(traceId);
  }

  async #modelOf(body: ReadRequest, account: string): Promise<ResolvedModel> {
    const named = { agent: body.agent, models: body.model === undefined ? [] : [body.model] };
    let resolved: ResolvedModel | undefined;
    const check = async (each: string) => {
      resolved = await this.#registered.check(this.#options.models, account, each);
      return resolved.target;
    };
    const [model] = (await checkAgent(named, this.#options, check, this.#options.allowsCommands)) ?? [];
    if (resolved !== undefined) return resolved;
    // Without a model the schema's error for a missing field is thrown.
    const name = model ?? (parseBody(runRequestSchema, { ...body }) as RunRequest).model;
    return { model: name, target: name, gateway: null };
  }
}

/** A request whose model is optional, since an agent can bring its own. */
type ReadRequest = Omit<ForkedRequest, 'model'> & { readonly model?: string | undefined };

/** @throws ApiError trace_not_found, run_running or invalid_parameter for a fork. */
async function toRequest(body: RunBody, store: TraceStore, account: string): Promise<ReadRequest> {
  const { fork, ...request } = body;
  if (fork === undefined) return runRequestSchema.extend({ model: modelNameSchema.optional() }).parse(request);
  if (body.agent !== null) {
    throw new ApiError('invalid_parameter', 'A fork goes on with a model: leave agent out.', { param: 'agent' });
  }
  const trace = await findTrace(store, fork.trace_id, account, 'fork.trace_id');
  const { request: asked } = await findRow(store, fork.trace_id, account);
  const { toForkedRequest } = await import('../../../evaluation/replays/fork/fork-request.ts');
  return toForkedRequest(body, fork, { trace, asked });
}

async function toResult(
  store: TraceStore,
  traceId: string,
): Promise<Pick<RunAccepted, 'status' | 'reward' | 'answer'>> {
  const trace = await store.trace(traceId);
  if (trace === undefined) throw traceNotFound(traceId); // The trace was deleted while this request waited.
  return { status: trace.status, reward: trace.reward, answer: trace.answer };
}
