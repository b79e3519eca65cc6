import type { ConnectOptions, EnvironmentClient, Sampler } from '../client/environment-client.ts';
import { ApiError } from '../contract/errors.ts';
import type { EventBody } from '../contract/event.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { PromptMessage, SetupResult } from '../contract/scenario.ts';
import type { SessionStatus } from '../contract/session.ts';
import type { ChatModel, ModelDelta, ReferenceContext } from '../model/chat-model.ts';
import type { Redactor } from '../redaction/redactor.ts';
import { AgentLoop } from '../rollout/agent-loop.ts';
import type { RolloutLimits } from '../rollout/limits.ts';
import { ScenarioSession } from '../rollout/scenario-session.ts';
import { type SessionEnd, sessionFinished, statusOf, stopOf } from '../rollout/session-end.ts';
import { startDeadline } from '../runtime/start-deadline.ts';
import { failWith, setUsage, startAgentSpan } from '../telemetry/spans.ts';
import { TraceSpan } from '../telemetry/trace-span.ts';
import type { EventRecorder } from '../trace/event-recorder.ts';
import { type AnsweredTurn, toAnsweredTurn } from './answered-turn.ts';

export interface ChatSessionOptions {
  readonly id: string;
  readonly traceId: string;
  /** Account of the session. */
  readonly account: string;
  /** The environment's configured name. */
  readonly environment: string;
  /** Its short name. */
  readonly scenario: string;
  /** Its name as the environment lists it. */
  readonly listedName: string;
  readonly args: JsonObject;
  readonly model: string;
  /** Bounds each turn. */
  readonly maxSteps: number;
  /** Milliseconds since the end of the last turn after which it expires. */
  readonly ttlMs: number;
  /** A fresh environment for this session alone; the session closes it. */
  connect(options: ConnectOptions): Promise<EnvironmentClient>;
  /** @throws BoundaryError boundary `model` for a name that cannot be used. */
  createModel(name: string, context: ReferenceContext): ChatModel;
  /** Makes what answers the questions of its environment to a model: for judges of its evaluation. */
  createSampler(recorder: EventRecorder, ended: AbortSignal): Sampler;
  readonly recorder: EventRecorder;
  /** Name of the server, for the trace. */
  readonly server: string;
  readonly environmentHash: string | null;
  readonly limits?: Partial<RolloutLimits> | undefined;
  /** Takes secrets out of its spans. */
  readonly redactor?: Redactor | undefined;
  /** Text of the model for the pages that follow the session, where its caller takes text as it comes. */
  onDelta(delta: ModelDelta): void;
  /** Called once the session has ended and its trace is written. Its environment is being closed then. */
  onEnded(session: ChatSession): Promise<void>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface ChatTurnOptions {
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  /** Milliseconds for the whole turn. */
  readonly limitMs: number;
  readonly sampling?: JsonObject | undefined;
  readonly onDelta?: ((delta: ModelDelta) => void) | undefined;
  readonly onEvent?: ((event: EventBody) => void) | undefined;
}

/**
 * Milliseconds that a turn may take. A caller of a plain turn hears nothing before its end, and clients give up 300 s after
 * the request where no headers came.
 */
export const TURN_LIMIT_MS = { plain: 280_000, streamed: 3_600_000 } as const;

/**
 * A scenario session that somebody chats with (contract section 2, "States"). It adds to it the limit and the span of
 * each turn, and expiry. The state is that of the scenario session.
 */
export class ChatSession {
  readonly id: string;
  readonly traceId: string;
  readonly createdAt: number;
  readonly options: ChatSessionOptions;
  readonly #session: ScenarioSession;
  /** Where its spans start. */
  readonly #root: TraceSpan;
  #lastActiveAt: number;
  #expiry: NodeJS.Timeout | undefined;
  /** True while its first turn waits for a process that other sessions wait for too. */
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

  /** Milliseconds since 1970; the end of the last turn. */
  get lastActiveAt(): number {
    return this.#lastActiveAt;
  }

  get turns(): number {
    return this.#session.turns;
  }

  get steps(): number {
    return this.#session.steps;
  }

  /** The result of setup; undefined before its first turn is set up. */
  get setup(): SetupResult | undefined {
    return this.#session.setup;
  }

  /** True while it waits for its environment behind other sessions: it may still be refused. */
  get isWaiting(): boolean {
    return this.#isWaiting && this.setup === undefined;
  }

  /** True while a turn or its end goes on. */
  get isBusy(): boolean {
    return !['new', 'idle', 'ended'].includes(this.#session.phase);
  }

  /** Resolves when the environment of an ended session is closed. Never rejects. */
  get closed(): Promise<void> {
    return this.#session.closed;
  }

  /**
   * Takes one turn within its limit, and starts the clock of its expiry anew. A session whose first turn has no answer has
   * failed, and so has one whose environment was lost.
   *
   * @throws ApiError turn_timeout, session_busy, session_finished, or what the gateway or the environment failed with; the
   *   reason of the signal.
   */
  async turn(messages: readonly PromptMessage[], options: ChatTurnOptions): Promise<AnsweredTurn> {
    const { signal, limitMs, sampling, onDelta, onEvent } = options;
    const session = this.#session;
    session.assertFree();
    const isFirst = session.turns === 0;
    const deadline = startDeadline(limitMs, (limit) => turnTimeout(limit, isFirst));
    // The wait for a process has a limit of its own.
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
   * Submits the answer and evaluates it, once: later calls get the same. Without an answer the last text is submitted,
   * and where that does not fit the scenario's answer schema, the model is asked for it once more.
   *
   * @throws ApiError session_busy, or session_finished of an abandoned or failed session; BoundaryError where the
   *   evaluation fails, and with it the session.
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
    // The error of the trace may stand for one that says more, such as when to try again.
    throw end.error.cause instanceof ApiError ? end.error.cause : end.error;
  }

  /**
   * Ends the session without evaluating it.
   *
   * @throws ApiError session_finished where it has ended in another way, session_busy while it is being evaluated.
   */
  async abandon(): Promise<void> {
    if (this.#session.phase === 'finishing') {
      throw new ApiError('session_busy', `Session ${this.id} is being evaluated: it can no longer be abandoned.`);
    }
    const reason = sessionFinished(this.id, { status: 'abandoned', message: null });
    const stop = { status: 'cancelled', stopReason: 'abandoned', error: null, reason } as const;
    await this.#session.stop(stop).catch(() => {}); // A failed write changes nothing of it.
    const { end } = this.#session;
    if (end !== undefined && statusOf(end) !== 'abandoned') throw this.#finished(end);
  }

  /** Ends the session because of a failure. Never rejects; an evaluation that goes on decides, and an end stays. */
  async fail(cause: unknown): Promise<void> {
    if (this.#session.phase === 'finishing') await this.#session.finish({ stopReason: 'answered' }).catch(() => {});
    else await this.terminate(cause);
  }

  /** As `fail`, and stops an evaluation that goes on. */
  async terminate(cause: unknown): Promise<void> {
    await this.#session.stop(stopOf(cause)).catch(() => {}); // A failed write cannot be reported anywhere else.
  }

  #startSpan(): TraceSpan {
    const { environment, scenario, model, id: conversation } = this.options;
    // A session may last for hours, and a span is seen once it has ended: each turn is an invocation of the agent.
    return startAgentSpan(this.#root, { environment, scenario, model, origin: 'chat', attempt: 1, conversation });
  }

  /** Pages that follow the session see the text as its caller does. */
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

  /** Submits the last answer because nobody came back. The end of a turn that runs starts the clock anew. */
  #expire(): void {
    if (this.#session.phase !== 'idle') return;
    void this.#session.finish({ stopReason: 'expired', span: this.#root }).catch(() => {}); // Its trace says it.
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
