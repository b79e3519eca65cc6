import { randomBytes } from 'node:crypto';
import { Idempotency } from '../accounts/idempotency.ts';
import type { Agents } from '../agents/agents.ts';
import type { Catalogue } from '../client/catalogue.ts';
import { checkScenarioArgs } from '../client/scenario-args.ts';
import { ApiError } from '../contract/errors.ts';
import type { ResolvedModel } from '../contract/model.ts';
import {
  modelNameSchema,
  type RunAccepted,
  type RunBody,
  type RunRequest,
  runAcceptedSchema,
  runBodySchema,
  runRequestSchema,
} from '../contract/run.ts';
import { checkSize } from '../contract/size-limits.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import { accountOf } from '../http/api-keys.ts';
import { defineRoute, type Route, type RouteReply, type RouteRequest, TRACE_ID_HEADER } from '../http/route.ts';
import { parseBody } from '../http/validation.ts';
import type { Models } from '../model/create-model.ts';
import { RegisteredModels, toModelFields } from '../model/registered-models.ts';
import type { RunQueue } from '../queue/run-queue.ts';
import type { NewTrace, TraceStore } from '../trace/trace-store.ts';
import { findRow, findTrace, traceNotFound } from '../trace-routes/traces-route.ts';
import { waitForEnd } from '../trace-routes/wait-for-end.ts';
import { type ForkedRequest, toForkedRequest } from '../trust/fork/fork-request.ts';
import { toForkParent } from '../trust/replay/replay-request.ts';
import { checkAgent } from './check-agent.ts';
import { checkRunHarness } from './check-harness-needs.ts';
import { checkMetadata } from './check-metadata.ts';
import { parsePreferredWait } from './prefer.ts';
import type { QueuedQuota } from './queued-quota.ts';

export interface RunRouteOptions {
  readonly catalogue: Catalogue;
  readonly models: Models;
  readonly agents: Agents | undefined;
  readonly database: Database;
  readonly store: TraceStore;
  readonly queue: RunQueue;
  /** The trace's page. */
  toTraceUrl(traceId: string): string;
  /** Holds keys to their queued runs. */
  readonly quota: QueuedQuota;
  /** Aborted when the service shuts down: nobody waits any longer. */
  readonly closing: AbortSignal;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** An accepted run, before any wait for its end. */
type Accepted = Pick<RunAccepted, 'trace_id' | 'trace_url'>;
type Incoming = RouteRequest<RunBody>;

/** `POST /v1/agent/run`: everything is checked before a run exists, and what was accepted is durable. */
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
        'request_in_progress',
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
  readonly #idempotency: Idempotency<Accepted>;

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
    await waitForEnd(store, accepted.trace_id, { seconds, signal });
    return {
      headers: { ...about, 'preference-applied': `wait=${seconds}` },
      body: { ...accepted, ...(await toResult(store, accepted.trace_id)) } satisfies RunAccepted,
    };
  }

  /** A new run, or the one that an earlier request with this key has started. */
  async #accept(request: Incoming): Promise<Accepted> {
    const key = request.headers['idempotency-key'];
    if (typeof key !== 'string') return await this.#start(request);
    const { answer } = await this.#idempotency.once({ account: accountOf(request.caller), key }, request.json, (keep) =>
      this.#start(request, keep),
    );
    return answer;
  }

  /** Row, first event, queue entry and key are one transaction; what is refused leaves nothing behind. */
  async #start(
    { body: given, caller }: Incoming,
    keep?: (transaction: DatabaseTransaction, accepted: Accepted) => Promise<void>,
  ): Promise<Accepted> {
    const { catalogue, models, store, queue, quota, toTraceUrl } = this.#options;
    const body = await toRequest(given, store, accountOf(caller));
    const scenario = await catalogue.find(body.env_name, body.scenario_name);
    checkScenarioArgs(scenario, body.scenario_args);
    const model = await this.#modelOf(body, accountOf(caller));
    checkRunHarness(scenario, body, models);
    checkSize('sampling', body.sampling);
    checkMetadata(body.metadata);
    const keyId = caller?.keyId ?? null;

    const traceId = randomBytes(16).toString('hex');
    const accepted = { trace_id: traceId, trace_url: toTraceUrl(traceId) };
    const queued = toQueued(body, { scenarioName: scenario.short_name, model, fork: given.fork });
    const entry = { traceId, priority: queued.priority, envName: queued.env_name, keyId };
    const create = () =>
      store.create({ traceId, account: accountOf(caller), keyId, queued }, async (transaction) => {
        await keep?.(transaction, accepted);
        await queue.enqueue(entry, transaction);
      });
    await quota.within(keyId, create);
    return accepted;
  }

  async #modelOf(body: ReadRequest, account: string): Promise<ResolvedModel> {
    const { models } = this.#options;
    const named = { agent: body.agent, models: body.model === undefined ? [] : [body.model] };
    let resolved: ResolvedModel | undefined;
    const check = async (each: string) => {
      resolved = await this.#registered.resolve(account, each);
      models.check(resolved);
      return resolved.target;
    };
    const [model] = (await checkAgent(named, this.#options, check)) ?? [];
    if (resolved !== undefined) return resolved;
    // Said as of any field that is missing.
    const name = model ?? (parseBody(runRequestSchema, { ...body }) as RunRequest).model;
    return { model: name, target: name, gateway: null };
  }
}

/** A request whose model may be missing: an agent can bring its own. */
type ReadRequest = Omit<ForkedRequest, 'model'> & { readonly model?: string | undefined };

/** @throws ApiError trace_not_found, run_running or invalid_parameter for a fork. */
async function toRequest(body: RunBody, store: TraceStore, account: string): Promise<ReadRequest> {
  const { fork, ...request } = body;
  if (fork === undefined) return runRequestSchema.extend({ model: modelNameSchema.optional() }).parse(request);
  if (body.agent !== null) {
    throw new ApiError('invalid_parameter', 'A fork goes on with a model: leave agent out.', { param: 'agent' });
  }
  const trace = await findTrace(store, fork.trace_id, account);
  const { request: asked } = await findRow(store, fork.trace_id, account);
  return toForkedRequest(body, fork, { trace, asked });
}

interface Queued {
  readonly scenarioName: string;
  readonly model: ResolvedModel;
  readonly fork: RunBody['fork'];
}

function toQueued(request: ReadRequest, { scenarioName, model, fork }: Queued): NewTrace['queued'] {
  return {
    origin: 'run',
    env_name: request.env_name,
    scenario_name: scenarioName,
    scenario_args: request.scenario_args,
    ...toModelFields(model),
    max_steps: request.max_steps,
    timeout_seconds: request.timeout_seconds,
    seed: request.seed,
    sampling: request.sampling,
    metadata: request.metadata,
    priority: request.priority,
    ...(request.agent === null ? {} : { agent: request.agent }),
    ...(fork === undefined ? {} : { parent: toForkParent(fork) }),
    ...(request.user_model === null ? {} : { user_model: request.user_model }),
    ...(request.judge_model === null ? {} : { judge_model: request.judge_model }),
    ...(request.user_script === undefined ? {} : { user_script: request.user_script }),
  };
}

async function toResult(
  store: TraceStore,
  traceId: string,
): Promise<Pick<RunAccepted, 'status' | 'reward' | 'answer'>> {
  const trace = await store.trace(traceId);
  if (trace === undefined) throw traceNotFound(traceId); // Deleted while this request waited for its end.
  return { status: trace.status, reward: trace.reward, answer: trace.answer };
}
