import type { Logger } from 'pino';
import { ApiError } from '../../contract/errors.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { ResolvedModel } from '../../contract/model.ts';
import { LOCAL_ACCOUNT } from '../../contract/names.ts';
import { checkSize } from '../../contract/size-limits.ts';
import type { EnvironmentClient } from '../../environment/client/environment-client.ts';
import type { WarmConnectOptions } from '../../environment/client/pool/warm-pool.ts';
import { checkSessionJudge } from '../../environment/client/scenario-needs.ts';
import type { Models } from '../../models/gateway/create-model.ts';
import { LiveSessions } from '../../rollout/live-sessions.ts';
import { createRunSampler } from '../../rollout/session/judge/harness-models.ts';
import type { RolloutLimits } from '../../rollout/session/limits.ts';
import { toQueuedRun } from '../../rollout/session/queued-run.ts';
import { sessionFinished } from '../../rollout/session/session-end.ts';
import type { RegisteredModels } from '../../store/models/registered-models.ts';
import { createRecorder } from '../../store/traces/event-recorder.ts';
import type { TraceStore } from '../../store/traces/trace-store.ts';
import { sleep } from '../../support/runtime/backoff.ts';
import { loopSlices } from '../../support/runtime/loop-slices.ts';
import { newId } from '../../support/runtime/new-id.ts';
import { LiveDeltas } from '../traces/live-deltas.ts';
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
  /** Connects a fresh environment whose code has this hash (`hashOf`). */
  connect(environment: string, options: WarmConnectOptions): Promise<EnvironmentClient>;
  /** SHA-256 of the environment's code, in hex; null if unknown. */
  hashOf(environment: string): Promise<string | null>;
  /** Defaults for a session that does not name them. */
  readonly defaults: { readonly model: string; readonly maxSteps: number };
  /** Most active sessions. */
  readonly maxSessions: number;
  /** Milliseconds after the last turn until a session expires. */
  readonly sessionTtlMs: number;
  readonly limits?: Partial<RolloutLimits> | undefined;
  readonly now: () => number;
}

export interface SessionStart {
  /** Account of the new session. */
  readonly account: string;
  /** Short or full name of the scenario. */
  readonly scenario: string;
  readonly args: JsonObject;
  /** Model of the session. Undefined: the server's default. */
  readonly model: string | undefined;
  readonly maxSteps: number | undefined;
  /** Sampling fields of the first turn, for the trace. */
  readonly sampling: JsonObject;
}

/**
 * The sessions of a scenario server: active ones in memory, ended ones in the database. An account sees only its own
 * sessions (contract section 0).
 */
export class SessionRegistry {
  /** Streamed text of models, for pages that follow a session. */
  readonly deltas = new LiveDeltas();
  readonly #options: SessionRegistryOptions;
  readonly #live: LiveSessions<ChatSession>;

  constructor(options: SessionRegistryOptions) {
    const { maxSessions, logger } = options;
    this.#options = options;
    this.#live = new LiveSessions({
      idOf: ({ id }) => id,
      maxSessions,
      fail: (session, cause) => session.fail(cause),
      onError: (error, id) => logger.error({ err: error }, `The end of session ${id} could not be written`),
    });
  }

  /** Active sessions of all accounts. */
  get size(): number {
    return this.#live.all().length;
  }

  /**
   * Checks the parameters of a session, then creates it and its trace. The first turn, which has to follow, sets it
   * up.
   *
   * @throws ApiError scenario_not_found, invalid_scenario_args, invalid_parameter for a missing judge,
   * model_not_found, request_too_large, capacity_exceeded; shutting_down once the registry is closed.
   */
  async start({ scenario, args, sampling, ...start }: SessionStart): Promise<ChatSession> {
    const { scenarios, models, defaults, store, records, sessionTtlMs } = this.#options;
    const { account, model = defaults.model, maxSteps = defaults.maxSteps } = start;
    const found = await scenarios.check(scenario, args);
    checkSessionJudge(found.entry, models.harness.judge);
    const resolved = await this.#options.registered.check(models, account, model);
    checkSize('sampling', sampling);
    return await this.#live.start(async () => {
      const session = await this.#create(found, { account, args, model, maxSteps }, resolved);
      const { id, traceId, options } = session;
      const queued = toQueuedRun({
        origin: 'chat',
        env_name: options.environment,
        scenario_name: options.scenario,
        scenario_args: args,
        model: resolved,
        max_steps: maxSteps,
        timeout_seconds: Math.ceil(sessionTtlMs / 1_000),
        sampling,
        metadata: { session_id: id },
      });
      await store.create({ traceId, account: LOCAL_ACCOUNT, queued }, (transaction) =>
        records.insert(toRecord(session), transaction),
      );
      return session;
    });
  }

  /** Active sessions of an account, oldest first. */
  active(account: string): readonly ChatSession[] {
    return this.#live.all().filter(({ options }) => options.account === account);
  }

  /**
   * Finds an active session. @throws ApiError session_not_found, session_conflict; session_finished for an ended
   * one.
   */
  async find(account: string, id: string): Promise<ChatSession> {
    const session = this.#held(account, id);
    if (session !== undefined) return session;
    const record = await this.record(account, id);
    if (record.status === 'active') {
      throw new ApiError('session_conflict', `Session ${id} is held by another server on the same store.`);
    }
    throw sessionFinished(id, record);
  }

  /** The record of an active or ended session. @throws ApiError session_not_found */
  async record(account: string, id: string): Promise<SessionRecord> {
    const session = this.#held(account, id);
    if (session !== undefined) return toRecord(session);
    const record = await this.#options.records.find(id);
    if (record !== undefined && record.account === account) return record;
    const message = `There is no session ${JSON.stringify(id.slice(0, 100))}. GET /v1/sessions lists the active ones.`;
    throw new ApiError('session_not_found', message);
  }

  /** Ended and active sessions of all servers that share the store, oldest first. */
  async list(account: string): Promise<readonly SessionRecord[]> {
    const written = await this.#options.records.list(account);
    return written.map((record) => {
      const session = record.status === 'active' ? this.#held(account, record.id) : undefined;
      return session === undefined ? record : toRecord(session);
    });
  }

  /**
   * Finishes a session once. Later calls return the same record, even after a restart of the server.
   *
   * @throws ApiError session_not_found, session_busy; session_finished for a session that was not evaluated;
   * BoundaryError if the evaluation fails.
   */
  async finish(account: string, id: string, answer: Json | undefined): Promise<SessionRecord> {
    await this.#held(account, id)?.finish(answer);
    const record = await this.record(account, id);
    if (record.status === 'active') await this.find(account, id);
    if (record.result === null) throw sessionFinished(id, record);
    return record;
  }

  /** Ends a session without an evaluation. @throws ApiError as `finish`. */
  async abandon(account: string, id: string): Promise<SessionRecord> {
    await this.#held(account, id)?.abandon();
    const record = await this.record(account, id);
    if (record.status === 'active') await this.find(account, id);
    if (record.status !== 'abandoned') throw sessionFinished(id, record);
    return record;
  }

  /** Lets running turns and evaluations end within `graceMs`, then fails all active sessions. Never rejects. */
  async close(graceMs: number): Promise<void> {
    const cause = new ApiError('shutting_down', 'The server was shut down', { headers: { 'retry-after': '5' } });
    const endsAt = performance.now() + graceMs;
    await this.#live.close(cause, async () => {
      const active = () => this.#live.all();
      const idle = active().filter(({ isBusy }) => !isBusy);
      await Promise.all(idle.map((session) => session.fail(cause)));
      while (active().some(({ isBusy }) => isBusy) && performance.now() < endsAt) await sleep(POLL_MS);
      await Promise.all(active().map((session) => session.terminate(cause)));
    });
  }

  async #create(
    { environment, entry }: FoundScenario,
    start: Pick<ChatSession['options'], 'account' | 'args' | 'model' | 'maxSteps'>,
    resolved: ResolvedModel,
  ): Promise<ChatSession> {
    const { models, store, serverId, sessionTtlMs, limits, now } = this.#options;
    const environmentHash = await this.#options.hashOf(environment);
    // Yields: hundreds of requests may continue at once after waiting for the same list of scenarios.
    await loopSlices.turn();
    const traceId = newId();
    return new ChatSession({
      ...start,
      id: `sess_${newId()}`,
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

  /** Finds a session that is active on this server. */
  #held(account: string, id: string): ChatSession | undefined {
    const session = this.#live.find(id);
    return session?.options.account === account ? session : undefined;
  }

  async #keep(session: ChatSession): Promise<void> {
    const { id } = session;
    // The environment of the session is still closing.
    this.#live.finish(id, () => session.closed);
    try {
      await this.#options.records.end(id, toRecord(session));
    } catch (error) {
      this.#options.logger.error({ err: error }, `The end of session ${id} could not be written`);
    } finally {
      this.#live.drop(id);
    }
  }
}

const POLL_MS = 20;
