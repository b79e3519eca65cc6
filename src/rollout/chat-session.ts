import type { ConnectOptions, EnvironmentClient } from '../client/environment-client.ts';
import { ApiError, messageOf } from '../contract/errors.ts';
import type { EventBody } from '../contract/event.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { PromptMessage, SetupResult } from '../contract/scenario.ts';
import type { SessionStatus } from '../contract/session.ts';
import type { ChatModel, ModelDelta, ReferenceContext } from '../model/chat-model.ts';
import type { Redactor } from '../redaction/redactor.ts';
import { startDeadline } from '../runtime/deadline.ts';
import { during, failWith, setUsage, startAgentSpan } from '../telemetry/spans.ts';
import { TraceSpan } from '../telemetry/trace-span.ts';
import type { EventRecorder } from '../trace/event-recorder.ts';
import { ROLLOUT_LIMITS, type RolloutLimits } from './limits.ts';
import { openEnvironment } from './open-environment.ts';
import { toReferenceContext } from './reference-context.ts';
import { ScenarioSession, type TurnResult } from './scenario-session.ts';
import { causeOf, type SessionEnd, sessionFinished, toBoundaryError } from './session-end.ts';
import { toVersions } from './versions.ts';

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
  /** A fresh environment for this session alone; the session closes it. */
  connect(options: ConnectOptions): Promise<EnvironmentClient>;
  /** @throws BoundaryError boundary `model` for a name that cannot be used. */
  createModel(name: string, context: ReferenceContext): ChatModel;
  readonly recorder: EventRecorder;
  /** Name of the server, for the trace. */
  readonly server: string;
  readonly environmentHash: string | null;
  readonly limits?: Partial<RolloutLimits> | undefined;
  /** Takes secrets out of its spans. */
  readonly redactor?: Redactor | undefined;
  /** Called once the session has ended and its trace is written. Its environment is being closed then. */
  onEnded(session: ChatSession): Promise<void>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface ChatTurnOptions {
  /** Aborted when the client goes away, or the turn's time is over. */
  readonly signal: AbortSignal;
  readonly sampling?: JsonObject;
  readonly onDelta?: (delta: ModelDelta) => void;
  readonly onEvent?: (event: EventBody) => void;
}

/**
 * A session that somebody chats with: a scenario in an environment of its own, turns that come one after the other, and
 * an end (contract section 2, "States"). It writes a trace of origin `chat`. Whoever made it ends it, by `finish`,
 * `expire`, `abandon` or `fail`; a failed first turn does it too.
 */
export class ChatSession {
  readonly id: string;
  readonly traceId: string;
  readonly createdAt: number;
  readonly options: ChatSessionOptions;
  readonly #recorder: EventRecorder;
  readonly #stop = new AbortController();
  /** Where its spans start. */
  readonly #root: TraceSpan;
  #lastActiveAt: number;
  #client: EnvironmentClient | undefined;
  #scenario: ScenarioSession | undefined;
  #turn: Promise<unknown> | undefined;
  #ending: Promise<SessionEnd> | undefined;
  #end: SessionEnd | undefined;
  #turns = 0;
  #isEvaluating = false;
  /** Aborted with how its environment was lost. */
  readonly #lost = new AbortController();
  #closed: Promise<void> = Promise.resolve();

  constructor(options: ChatSessionOptions) {
    this.id = options.id;
    this.traceId = options.traceId;
    this.options = options;
    this.createdAt = options.now();
    this.#lastActiveAt = this.createdAt;
    this.#recorder = options.recorder;
    this.#root = TraceSpan.root(options);
  }

  get status(): SessionStatus {
    return this.#end?.status ?? 'active';
  }

  /** Undefined while it is active. */
  get end(): SessionEnd | undefined {
    return this.#end;
  }

  /** Milliseconds since 1970; the end of the last turn. */
  get lastActiveAt(): number {
    return this.#lastActiveAt;
  }

  get turns(): number {
    return this.#turns;
  }

  get steps(): number {
    return this.#scenario?.steps ?? 0;
  }

  /** The result of setup; undefined before its first turn is set up. */
  get setup(): SetupResult | undefined {
    return this.#scenario?.setup;
  }

  /** True while a turn or its end goes on: it cannot expire then. */
  get isBusy(): boolean {
    return this.#turn !== undefined || (this.#ending !== undefined && this.#end === undefined);
  }

  /** Resolves when the environment of an ended session is closed. Never rejects. */
  get closed(): Promise<void> {
    return this.#closed;
  }

  /**
   * Runs one turn; the first one sets the scenario up. Without messages the first one plays the scenario's prompt alone.
   *
   * @throws ApiError session_busy or session_finished; BoundaryError for a session that cannot be set up, which is
   *   failed then.
   */
  async turn(messages: readonly PromptMessage[], options: ChatTurnOptions): Promise<TurnResult> {
    this.#assertFree();
    const isFirst = this.#turns === 0;
    this.#turns += 1;
    const playing = this.#play(messages, options);
    this.#turn = playing;
    try {
      const result = await playing;
      if (isFirst && (result.status === 'failed' || result.status === 'aborted')) await this.fail(causeOf(result));
      if (this.#lost.signal.aborted) await this.fail(this.#lost.signal.reason);
      return result;
    } catch (thrown) {
      await this.fail(thrown);
      throw thrown;
    } finally {
      this.#turn = undefined;
      this.#lastActiveAt = this.options.now();
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
    if (this.#ending === undefined) this.#assertFree();
    this.#ending ??= this.#finish('finished', answer ?? undefined);
    const end = this.#end ?? (await this.#ending);
    if (end.result === null) throw sessionFinished(this.id, end);
    return end;
  }

  /** Submits the last answer because nobody came back. Never rejects; does nothing where a turn runs, or after the end. */
  async expire(): Promise<void> {
    if (this.#turn !== undefined) return;
    this.#ending ??= this.#finish('expired', undefined);
    await this.#ending.catch(() => {});
  }

  /**
   * Ends the session without evaluating it.
   *
   * @throws ApiError session_finished where it has ended in another way, session_busy while it is being evaluated.
   */
  async abandon(): Promise<SessionEnd> {
    if (this.#isEvaluating) {
      throw new ApiError('session_busy', `Session ${this.id} is being evaluated: it can no longer be abandoned.`);
    }
    this.#ending ??= this.#giveUp('abandoned', null);
    const end = this.#end ?? (await this.#ending);
    if (end.status === 'abandoned') return end;
    throw sessionFinished(this.id, end);
  }

  /** Ends the session because of a failure. Never rejects; does nothing after the end. */
  async fail(cause: unknown): Promise<void> {
    this.#ending ??= this.#giveUp('failed', cause);
    await this.#ending.catch(() => {});
  }

  /** As `fail`, and stops an evaluation that goes on. */
  async terminate(cause: unknown): Promise<void> {
    this.#stop.abort(cause);
    await this.fail(cause);
  }

  #assertFree(): void {
    if (this.#end !== undefined) throw sessionFinished(this.id, this.#end);
    if (this.#ending !== undefined) throw new ApiError('session_finished', `Session ${this.id} is being ended.`);
    if (this.#turn !== undefined) {
      throw new ApiError('session_busy', `A turn of session ${this.id} is still running: wait for its answer.`);
    }
  }

  async #play(messages: readonly PromptMessage[], options: ChatTurnOptions): Promise<TurnResult> {
    const signal = AbortSignal.any([options.signal, this.#stop.signal, this.#lost.signal]);
    const { sampling, onDelta, onEvent } = options;
    const { maxSteps } = this.options;
    return await this.#inTurnSpan(async (span) => {
      this.#scenario ??= await this.#open(signal, span);
      return await this.#scenario.turn(messages, { maxSteps, signal, sampling, onDelta, onEvent, span });
    });
  }

  /** Each turn is an invocation of the agent: a session may last for hours, and a span is seen once it has ended. */
  async #inTurnSpan<Result extends TurnResult | undefined>(
    play: (span: TraceSpan) => Promise<Result>,
  ): Promise<Result> {
    const { environment, scenario, model, id: conversation } = this.options;
    const call = { environment, scenario, model, origin: 'chat', attempt: 1, conversation } as const;
    return await during(startAgentSpan(this.#root, call), async (span) => {
      const result = await play(span);
      if (result === undefined) return result;
      setUsage(
        span,
        result.responses.map(({ usage }) => usage),
      );
      span.set({ 'proctor.turn': result.turn, 'proctor.stop_reason': result.status });
      if (result.status === 'failed' || result.status === 'aborted') failWith(span, causeOf(result));
      return result;
    });
  }

  async #open(signal: AbortSignal, span: TraceSpan): Promise<ScenarioSession> {
    const { scenario, args, server, environmentHash, limits, connect } = this.options;
    const recorder = this.#recorder;
    recorder.record({ type: 'run.started', worker: server, versions: toVersions(undefined, environmentHash) });
    const context = toReferenceContext({
      scenario,
      args,
      seed: null,
      client: () => this.#client,
      answerSchema: () => this.setup?.answer_schema,
    });
    const model = this.options.createModel(this.options.model, context);
    const client = await openEnvironment({ connect, recorder, signal, environmentHash, span });
    this.#client = client;
    void client.lost?.then((cause) => this.#onLost(cause));
    return await ScenarioSession.open({ client, scenario, args, model, sampling: {}, recorder, signal, limits, span });
  }

  /** Without its environment it cannot go on: a turn that runs fails at once, whatever it waits for. */
  #onLost(cause: unknown): void {
    this.#lost.abort(cause);
    if (this.#turn === undefined) void this.fail(cause);
  }

  async #finish(status: 'finished' | 'expired', answer: Json | undefined): Promise<SessionEnd> {
    const scenario = this.#scenario;
    this.#isEvaluating = true;
    try {
      if (scenario === undefined) throw new Error('The session ended before its first turn');
      const { signal } = this.#stop;
      if (answer === undefined && status === 'finished') await this.#repairAnswer(scenario);
      const result = await scenario.finish({ signal, span: this.#root, ...(answer === undefined ? {} : { answer }) });
      const stop_reason = status === 'finished' ? 'answered' : 'expired';
      const { reward } = result.evaluation;
      this.#recorder.record({ type: 'run.finished', status: 'completed', stop_reason, reward, error: null });
      await this.#recorder.settled(); // An end is told only when it is durable.
      return await this.#close({ status, result, message: null });
    } catch (thrown) {
      await this.#giveUp('failed', thrown);
      throw thrown;
    }
  }

  /** An answer that cannot be repaired in time is submitted as plain text. */
  async #repairAnswer(scenario: ScenarioSession): Promise<void> {
    const deadline = startDeadline(
      this.options.limits?.repairMs ?? ROLLOUT_LIMITS.repairMs,
      (limit) => new Error(`The answer was not repaired within ${limit}`),
    );
    try {
      const signal = AbortSignal.any([this.#stop.signal, this.#lost.signal, deadline.signal]);
      await scenario.repairAnswer({ signal, span: this.#root });
    } finally {
      deadline.clear();
    }
  }

  async #giveUp(status: 'abandoned' | 'failed', cause: unknown): Promise<SessionEnd> {
    const message = cause === null ? null : messageOf(cause);
    this.#stop.abort(status === 'abandoned' ? sessionFinished(this.id, { status, message }) : cause);
    // The turn's last events come before the end.
    await this.#turn?.catch(() => {});
    const isFailed = status === 'failed';
    this.#recorder.record({
      type: 'run.finished',
      status: isFailed ? 'failed' : 'cancelled',
      stop_reason: isFailed ? 'error' : 'abandoned',
      reward: null,
      error: isFailed ? toBoundaryError(cause).toBody() : null,
    });
    return await this.#close({ status, result: null, message });
  }

  async #close(end: SessionEnd): Promise<SessionEnd> {
    await this.#recorder.end().catch(() => {}); // A failed write cannot be reported anywhere else.
    this.#end = end;
    this.#lastActiveAt = this.options.now();
    this.#closed = (this.#scenario ?? this.#client)?.close() ?? this.#closed;
    await this.options.onEnded(this);
    return end;
  }
}
