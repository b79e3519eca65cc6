import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { EnvironmentClient } from '../client/environment-client.ts';
import { checkSessionJudge } from '../client/scenario-needs.ts';
import type { WarmConnectOptions } from '../client/warm-pool.ts';
import { ApiError } from '../contract/errors.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { ResolvedModel } from '../contract/model.ts';
import { checkSize } from '../contract/size-limits.ts';
import type { Models } from '../model/create-model.ts';
import { type RegisteredModels, toModelFields } from '../model/registered-models.ts';
import { createRunSampler } from '../rollout/harness-models.ts';
import type { RolloutLimits } from '../rollout/limits.ts';
import { sessionFinished } from '../rollout/session-end.ts';
import { loopSlices } from '../runtime/loop-slices.ts';
import { createRecorder } from '../trace/event-recorder.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import { LiveDeltas } from '../trace-routes/live-deltas.ts';
import { ChatSession } from './chat-session.ts';
import type { FoundScenario, Scenarios } from './scenarios.ts';
import { type SessionRecord, type SessionRecords, toRecord } from './session-records.ts';

export interface SessionRegistryOptions {
  readonly store: TraceStore;
  readonly records: SessionRecords;
  readonly scenarios: Scenarios;
  readonly models: Models;
  readonly registered: RegisteredModels;
  readonly logger: Logger;
  /** Id of this server, for traces. */
  readonly serverId: string;
  /** A fresh environment of the code with this hash (`hashOf`). */
  connect(environment: string, options: WarmConnectOptions): Promise<EnvironmentClient>;
  /** SHA-256 of the environment's code, hex; null where it is not known. */
  hashOf(environment: string): Promise<string | null>;
  /** Where a session names none. */
  readonly defaults: { readonly model: string; readonly maxSteps: number };
  /** Active ones. */
  readonly maxSessions: number;
  /** Milliseconds since the end of the last turn after which a session expires. */
  readonly sessionTtlMs: number;
  readonly limits?: Partial<RolloutLimits> | undefined;
  readonly now: () => number;
}

export interface SessionStart {
  /** Account of the new session. */
  readonly account: string;
  /** A short or a full name. */
  readonly scenario: string;
  readonly args: JsonObject;
  /** Undefined: the server's. */
  readonly model: string | undefined;
  readonly maxSteps: number | undefined;
  /** Sampling fields of the first turn, for the trace. */
  readonly sampling: JsonObject;
}

/** Account of the traces of all chat sessions (contract section 3). */
const TRACE_ACCOUNT = 'local';

/**
 * The sessions of a scenario server: the active ones, and the records of those that have ended. Each belongs to an
 * account; for every other account it is not there (contract section 0).
 */
export class SessionRegistry {
  /** Text of models as it streams, for pages that follow a session. */
  readonly deltas = new LiveDeltas();
  readonly #options: SessionRegistryOptions;
  readonly #active = new Map<string, ChatSession>();
  /** Environments of ended sessions, on their way out. */
  readonly #closing = new Set<Promise<void>>();
  /** Sessions whose first row is being written: they count already. */
  #starting = 0;
  #closed: ApiError | undefined;

  constructor(options: SessionRegistryOptions) {
    this.#options = options;
  }

  /** Active sessions of all accounts. */
  get size(): number {
    return this.#active.size;
  }

  /**
   * Checks all that a session is made of, and makes it and its trace. Its first turn, which has to follow, sets it up.
   *
   * @throws ApiError scenario_not_found, invalid_scenario_args, invalid_parameter where there is no judge, model_not_found,
   *   request_too_large, capacity_exceeded, or shutting_down once the registry was closed.
   */
  async start({ scenario, args, sampling, ...start }: SessionStart): Promise<ChatSession> {
    const { scenarios, models, defaults, maxSessions, store, records, sessionTtlMs } = this.#options;
    const { account, model = defaults.model, maxSteps = defaults.maxSteps } = start;
    const found = await scenarios.check(scenario, args);
    checkSessionJudge(found.entry, models.harness.judge);
    const resolved = await this.#options.registered.resolve(account, model);
    models.check(resolved);
    checkSize('sampling', sampling);
    if (this.#active.size + this.#starting >= maxSessions) throw atCapacity(maxSessions);
    if (this.#closed !== undefined) throw this.#closed;
    this.#starting += 1;
    try {
      const session = await this.#create(found, { account, args, model, maxSteps }, resolved);
      const { id, traceId, options } = session;
      const queued = {
        origin: 'chat',
        env_name: options.environment,
        scenario_name: options.scenario,
        scenario_args: args,
        ...toModelFields(resolved),
        max_steps: maxSteps,
        timeout_seconds: Math.ceil(sessionTtlMs / 1_000),
        seed: null,
        sampling,
        metadata: { session_id: id },
        priority: 0,
      } as const;
      await store.create({ traceId, account: TRACE_ACCOUNT, queued }, (transaction) =>
        records.insert(toRecord(session), transaction),
      );
      this.#active.set(id, session);
      // It was closed while the session was written: nothing else would end it.
      if (this.#closed !== undefined) {
        await session.fail(this.#closed);
        throw this.#closed;
      }
      return session;
    } finally {
      this.#starting -= 1;
    }
  }

  /** The active ones of an account, oldest first. */
  active(account: string): readonly ChatSession[] {
    return [...this.#active.values()].filter(({ options }) => options.account === account);
  }

  /** An active session. @throws ApiError session_not_found, session_conflict, or session_finished for one that has ended. */
  async find(account: string, id: string): Promise<ChatSession> {
    const session = this.#held(account, id);
    if (session !== undefined) return session;
    const record = await this.record(account, id);
    if (record.status === 'active') {
      throw new ApiError('session_conflict', `Session ${id} is held by another server on the same store.`);
    }
    throw sessionFinished(id, record);
  }

  /** The record of a session, active or not. @throws ApiError session_not_found */
  async record(account: string, id: string): Promise<SessionRecord> {
    const session = this.#held(account, id);
    if (session !== undefined) return toRecord(session);
    const record = await this.#options.records.find(id);
    if (record !== undefined && record.account === account) return record;
    const message = `There is no session ${JSON.stringify(id.slice(0, 100))}. GET /v1/sessions lists the active ones.`;
    throw new ApiError('session_not_found', message);
  }

  /** Those that have ended and those that are active, here or at another server of the same store, oldest first. */
  async list(account: string): Promise<readonly SessionRecord[]> {
    const written = await this.#options.records.list(account);
    return written.map((record) => {
      const session = record.status === 'active' ? this.#held(account, record.id) : undefined;
      return session === undefined ? record : toRecord(session);
    });
  }

  /**
   * Finishes a session, once: later calls get the same record, also after a restart of the server.
   *
   * @throws ApiError session_not_found, session_busy, or session_finished for one that was not evaluated; BoundaryError
   *   where the evaluation fails.
   */
  async finish(account: string, id: string, answer: Json | undefined): Promise<SessionRecord> {
    await this.#held(account, id)?.finish(answer);
    const record = await this.record(account, id);
    if (record.status === 'active') await this.find(account, id);
    if (record.result === null) throw sessionFinished(id, record);
    return record;
  }

  /** Ends a session without evaluating it. @throws ApiError as `finish` does. */
  async abandon(account: string, id: string): Promise<SessionRecord> {
    await this.#held(account, id)?.abandon();
    const record = await this.record(account, id);
    if (record.status === 'active') await this.find(account, id);
    if (record.status !== 'abandoned') throw sessionFinished(id, record);
    return record;
  }

  /** Lets turns and evaluations that go on end within `graceMs`; then everything that is active fails. Never rejects. */
  async close(graceMs: number): Promise<void> {
    const cause = new ApiError('shutting_down', 'The server was shut down', { headers: { 'retry-after': '5' } });
    this.#closed = cause;
    const endsAt = performance.now() + graceMs;
    const active = () => [...this.#active.values()];
    const idle = active().filter(({ isBusy }) => !isBusy);
    await Promise.all(idle.map((session) => session.fail(cause)));
    while (active().some(({ isBusy }) => isBusy) && performance.now() < endsAt) await pause(POLL_MS);
    await Promise.all(active().map((session) => session.terminate(cause)));
    await Promise.all(this.#closing);
  }

  async #create(
    { environment, entry }: FoundScenario,
    start: Pick<ChatSession['options'], 'account' | 'args' | 'model' | 'maxSteps'>,
    resolved: ResolvedModel,
  ): Promise<ChatSession> {
    const { models, store, serverId, sessionTtlMs, limits, now } = this.#options;
    const environmentHash = await this.#options.hashOf(environment);
    await loopSlices.turn(); // Hundreds may have waited for the same list of scenarios, and for the same hash.
    const traceId = randomBytes(16).toString('hex');
    return new ChatSession({
      ...start,
      id: `sess_${randomBytes(16).toString('hex')}`,
      traceId,
      environment,
      scenario: entry.short_name,
      listedName: entry.name,
      ttlMs: sessionTtlMs,
      connect: (options) => this.#options.connect(environment, { ...options, codeHash: environmentHash }),
      createModel: (_name, context) => models.create(resolved, context),
      createSampler: createRunSampler.bind(undefined, {
        request: { seed: null, scenario_args: start.args },
        harnessModels: models.harness,
        createModel: (name, context) => models.create(name, context),
      }),
      recorder: createRecorder(store, traceId, 1),
      server: serverId,
      environmentHash,
      limits,
      redactor: store.redactor,
      onDelta: (delta) => this.deltas.publish(traceId, { attempt: 1, ...delta }),
      onEnded: (ended) => this.#keep(ended),
      now,
    });
  }

  /** A session that is active here. */
  #held(account: string, id: string): ChatSession | undefined {
    const session = this.#active.get(id);
    return session?.options.account === account ? session : undefined;
  }

  async #keep(session: ChatSession): Promise<void> {
    const closing = session.closed.finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
    try {
      await this.#options.records.end(session.id, toRecord(session));
    } catch (error) {
      this.#options.logger.error({ err: error }, `The end of session ${session.id} could not be written`);
    } finally {
      this.#active.delete(session.id);
    }
  }
}

const POLL_MS = 20;

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function atCapacity(maxSessions: number): ApiError {
  return new ApiError(
    'capacity_exceeded',
    `The server holds ${maxSessions === 1 ? '1 session' : `${maxSessions} sessions`}, which is its limit: finish or delete some, or start it with a higher --max-sessions.`,
    { headers: { 'retry-after': '10' } },
  );
}
