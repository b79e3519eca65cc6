import { ApiError } from '../../contract/errors.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { PromptMessage, SetupResult } from '../../contract/scenario.ts';
import type { EventBody } from '../../contract/service/event.ts';
import type { SessionStatus } from '../../contract/session.ts';
import type { ConnectOptions, EnvironmentClient, Sampler } from '../../environment/client/environment-client.ts';
import type { ChatModel, ModelDelta, ReferenceContext } from '../../models/gateway/chat-model.ts';
import { AgentLoop } from '../../rollout/session/agent-loop.ts';
import type { RolloutLimits } from '../../rollout/session/limits.ts';
import { ScenarioSession } from '../../rollout/session/scenario-session.ts';
import { type SessionEnd, sessionFinished, statusOf, stopOf } from '../../rollout/session/session-end.ts';
import type { EventRecorder } from '../../store/traces/event-recorder.ts';
import type { Redactor } from '../../support/redaction/redactor.ts';
import { startDeadline } from '../../support/runtime/start-deadline.ts';
import { failWith, setUsage, startAgentSpan } from '../../support/telemetry/spans.ts';
import { TraceSpan } from '../../support/telemetry/trace-span.ts';
import { type AnsweredTurn, toAnsweredTurn } from './answered-turn.ts';

export interface ChatSessionOptions {
  readonly id: string;
  readonly traceId: string;
  /** Account that owns the session. */
  readonly account: string;
  /** Configured name of the environment. */
  readonly environment: string;
  /** Short name of the scenario. */
  readonly scenario: string;
  /** Name of the scenario in the environment's list. */
  readonly listedName: string;
  readonly args: JsonObject;
  readonly model: string;
  /** Most steps of each turn. */
  readonly maxSteps: number;
  /** Milliseconds after the last turn until the session expires. */
  readonly ttlMs: number;
  /** Connects a fresh environment for this session. The session closes it. */
  connect(options: ConnectOptions): Promise<EnvironmentClient>;
  /** @throws BoundaryError boundary `model` for a model that cannot be used. */
  createModel(name: string, context: ReferenceContext): ChatModel;
  /** Creates the sampler that answers sampling requests of the environment and of its judges. */
  createSampler(recorder: EventRecorder, ended: AbortSignal): Sampler;
  readonly recorder: EventRecorder;
  /** Name of the server, for the trace. */
  readonly server: string;
  readonly environmentHash: string | null;
  readonly limits?: Partial<RolloutLimits> | undefined;
  /** Removes secrets from the spans of the session. */
  readonly redactor?: Redactor | undefined;
  /** Gets streamed text of the model, for pages that follow the session. */
  onDelta(delta: ModelDelta): void;
  /** Called once, after the trace is written. The environment may still be closing. */
  onEnded(session: ChatSession): Promise<void>;
  /** Clock in milliseconds since 1970. */
  readonly now: () => number;
}

export interface ChatTurnOptions {
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** Limit of the whole turn in milliseconds. */
  readonly limitMs: number;
  readonly sampling?: JsonObject | undefined;
  readonly onDelta?: ((delta: ModelDelta) => void) | undefined;
  readonly onEvent?: ((event: EventBody) => void) | undefined;
}

/**
 * Limit of a turn in milliseconds. A plain reply sends nothing before its end, and clients give up 300 s after the
 * request without headers.
 */
export const TURN_LIMIT_MS = { plain: 280_000, streamed: 3_600_000 } as const;

/**
 * A scenario session that a client chats with (contract section 2, "States"). It adds a limit and a span to each turn,
 * and expiry. The scenario session holds the state.
 */
export class ChatSession {
  readonly id: string;
  readonly traceId: string;
  readonly createdAt: number;
  readonly options: ChatSessionOptions;
  readonly #session: ScenarioSession;
  /** Parent of the spans of this session. */
  readonly #root: TraceSpan;
  #lastActiveAt: number;
  #expiry: NodeJS.Timeout | undefined;
  /** True while the first turn waits for a free process. */
  #isWaiting = true;
  #onAdmitted: () => void = () => {};

  constructor(options: ChatSessionOptions) {
    this.id = options.id;
    this.traceId = options.traceId;
    this.options = options;
    this.createdAt = options.now();
    this.#lastActiveAt = this.createdAt;
    this.#root = TraceSpan.root(options);
    const { id, scenario, args, recorder, server, environmentHash, limits, model } = options;
    this.#session = new ScenarioSession({
      id,
      scenario,
      args,
      seed: null,
      connect: (connectOptions) => options.connect({ ...connectOptions, onAdmitted: () => this.#onAdmitted() }),
      createAgent: (context) => new AgentLoop(options.createModel(model, context)),
      createSampler: (to, ended) => options.createSampler(to, ended),
      sampling: {},
      recorder,
      worker: server,
      environmentHash,
      limits,
      onEnded: async () => {
        clearTimeout(this.#expiry);
        this.#lastActiveAt = options.now();
        await options.onEnded(this);
      },
    });
  }

  get status(): SessionStatus {
    const { end } = this.#session;
    return end === undefined ? 'active' : statusOf(end);
  }

  /** Undefined while it is active. */
  get end(): SessionEnd | undefined {
    return this.#session.end;
  }

  /** End of the last turn, in milliseconds since 1970. */
  get lastActiveAt(): number {
    return this.#lastActiveAt;
  }

  get turns(): number {
    return this.#session.turns;
  }

  get steps(): number {
    return this.#session.steps;
  }

  /** Result of the setup; undefined before the first turn is set up. */
  get setup(): SetupResult | undefined {
    return this.#session.setup;
  }

  /** True while the session waits for a free process. It can still be refused then. */
  get isWaiting(): boolean {
    return this.#isWaiting && this.setup === undefined;
  }

  /** True while a turn or the end of the session is running. */
  get isBusy(): boolean {
    return !['new', 'idle', 'ended'].includes(this.#session.phase);
  }

  /** Resolves when the environment of an ended session is closed. Never rejects. */
  get closed(): Promise<void> {
    return this.#session.closed;
  }

  /**
   * Plays one turn within its limit, and restarts the time to expiry. The session fails if its first turn fails or its
   * environment is lost.
   *
   * @throws ApiError turn_timeout, session_busy, session_finished; errors of the gateway or the environment; the
   * reason of the signal.
   */
  async turn(messages: readonly PromptMessage[], options: ChatTurnOptions): Promise<AnsweredTurn> {
    const { signal, limitMs, sampling, onDelta, onEvent } = options;
    const session = this.#session;
    session.assertFree();
    const isFirst = session.turns === 0;
    const deadline = startDeadline(limitMs, (limit) => turnTimeout(limit, isFirst));
    // The limit of the turn starts after the wait for a process, which has its own limit.
    this.#onAdmitted = () => {
      this.#isWaiting = false;
      deadline.restart();
    };
    const span = this.#startSpan();
    try {
      const result = await span.run(() =>
        session.turn(messages, {
          maxSteps: this.options.maxSteps,
          signal: AbortSignal.any([signal, deadline.signal]),
          sampling,
          onDelta: onDelta && this.#published(onDelta),
          onEvent,
          span,
        }),
      );
      span.set({ 'proctor.turn': result.turn, 'proctor.stop_reason': result.status });
      setUsage(
        span,
        result.responses.map(({ usage }) => usage),
      );
      if (result.status === 'failed') throw result.error;
      if (result.status === 'aborted') throw result.reason;
      return toAnsweredTurn(result);
    } catch (thrown) {
      failWith(span, thrown);
      if (isFirst) await this.fail(thrown);
      throw thrown;
    } finally {
      deadline.clear();
      span.end();
      if (session.lost.aborted) await this.fail(session.lost.reason);
      this.#lastActiveAt = this.options.now();
      this.#startExpiry();
    }
  }

  /**
   * Submits the answer and evaluates it once; later calls return the same end. The default answer is the last text. If
   * that does not match the answer schema, the model is asked once more.
   *
   * @throws ApiError session_busy; session_finished for an abandoned or failed session; BoundaryError if the
   * evaluation fails, which also fails the session.
   */
  async finish(answer: Json | undefined): Promise<SessionEnd> {
    const wasEnding = ['stopping', 'ended'].includes(this.#session.phase);
    const given = answer ?? undefined;
    const end = await this.#session.finish({
      stopReason: 'answered',
      answer: given,
      repairs: given === undefined,
      span: this.#root,
    });
    if (end.status === 'completed') return end;
    if (wasEnding || end.error === null) throw this.#finished(end);
    // The cause may say more than the error of the trace, such as when to try again.
    throw end.error.cause instanceof ApiError ? end.error.cause : end.error;
  }

  /**
   * Ends the session without evaluating it.
   *
   * @throws ApiError session_finished if it has ended in another way, session_busy during its evaluation.
   */
  async abandon(): Promise<void> {
    if (this.#session.phase === 'finishing') {
      throw new ApiError('session_busy', `Session ${this.id} is being evaluated: it can no longer be abandoned.`);
    }
    const reason = sessionFinished(this.id, { status: 'abandoned', message: null });
    const stop = { status: 'cancelled', stopReason: 'abandoned', error: null, reason } as const;
    await this.#session.stop(stop).catch(() => {}); // The session has ended even if the write failed.
    const { end } = this.#session;
    if (end !== undefined && statusOf(end) !== 'abandoned') throw this.#finished(end);
  }

  /** Fails the session. A running evaluation finishes first, and an ended session stays as it is. Never rejects. */
  async fail(cause: unknown): Promise<void> {
    if (this.#session.phase === 'finishing') await this.#session.finish({ stopReason: 'answered' }).catch(() => {});
    else await this.terminate(cause);
  }

  /** Fails the session, and aborts a running evaluation. Never rejects. */
  async terminate(cause: unknown): Promise<void> {
    await this.#session.stop(stopOf(cause)).catch(() => {}); // A failed write cannot be reported anywhere else.
  }

  #startSpan(): TraceSpan {
    const { environment, scenario, model, id: conversation } = this.options;
    // A session may last for hours and a span is exported at its end, so each turn has a span of its own.
    return startAgentSpan(this.#root, { environment, scenario, model, origin: 'chat', attempt: 1, conversation });
  }

  /** Sends text deltas to the caller and to the pages that follow the session. */
  #published(onDelta: (delta: ModelDelta) => void): (delta: ModelDelta) => void {
    return (delta) => {
      this.options.onDelta(delta);
      onDelta(delta);
    };
  }

  #startExpiry(): void {
    clearTimeout(this.#expiry);
    if (this.#session.end !== undefined) return;
    this.#expiry = setTimeout(() => this.#expire(), this.options.ttlMs).unref();
  }

  /** Submits the last answer when the session expires. After a running turn the time starts again. */
  #expire(): void {
    if (this.#session.phase !== 'idle') return;
    // The trace contains the error.
    void this.#session.finish({ stopReason: 'expired', span: this.#root }).catch(() => {});
  }

  #finished(end: SessionEnd): ApiError {
    return sessionFinished(this.id, { status: statusOf(end), message: end.error?.message ?? null });
  }
}

function turnTimeout(limit: string, isFirst: boolean): ApiError {
  const wayOut = isFirst
    ? 'Its session has failed with it, since it was the first: start a new one, streamed where it takes long.'
    : 'Its completed steps are kept: send the same messages again to go on.';
  return new ApiError('turn_timeout', `The turn did not end within ${limit}. ${wayOut}`);
}
