import { isDeepStrictEqual } from 'node:util';
import type { AgentToolEntry, EnvironmentClient } from '../client/environment-client.ts';
import type { AgentTool } from '../contract/chat.ts';
import { ApiError, BoundaryError } from '../contract/errors.ts';
import type { EventBody } from '../contract/event.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { Evaluation, PromptMessage, SetupResult } from '../contract/scenario.ts';
import type { ChatModel, ModelDelta, ModelResponse } from '../model/chat-model.ts';
import { NO_SPAN, type TraceSpan } from '../telemetry/trace-span.ts';
import type { EventRecorder } from '../trace/event-recorder.ts';
import { runAgentLoop, type TurnProgress } from './agent-loop.ts';
import { fitAnswer, repairRequest } from './answer.ts';
import { ROLLOUT_LIMITS, type RolloutLimits } from './limits.ts';
import { ResultBudget } from './result-budget.ts';
import { evaluateAnswer, setUpScenario } from './scenario-phases.ts';
import { Transcript } from './transcript.ts';

export interface OpenSessionOptions {
  readonly client: EnvironmentClient;
  readonly scenario: string;
  readonly args: JsonObject;
  readonly model: ChatModel;
  /** Forwarded to the gateway with every request. */
  readonly sampling: JsonObject;
  readonly recorder: EventRecorder;
  readonly signal: AbortSignal;
  readonly limits?: Partial<RolloutLimits> | undefined;
  /** Span of the setup. Default: no spans. */
  readonly span?: TraceSpan | undefined;
}

export interface TurnOptions {
  /** 1 or more; it bounds this turn. */
  readonly maxSteps: number;
  readonly signal: AbortSignal;
  /** Forwarded to the gateway beside the session's own, before which it goes. */
  readonly sampling?: JsonObject | undefined;
  /** The model's text as it comes. */
  readonly onDelta?: ((delta: ModelDelta) => void) | undefined;
  /** Each event of the turn as it is recorded. */
  readonly onEvent?: ((event: EventBody) => void) | undefined;
  readonly span?: TraceSpan | undefined;
}

interface TurnEnd {
  readonly turn: number;
  /** One for each completed step. */
  readonly responses: readonly ModelResponse[];
  /** Text of the last response; "" where it has none. */
  readonly answer: string;
}

/** How a turn ended. A failure is a value: what was done before it stays in the session, and the turn can be resumed. */
export type TurnResult =
  | (TurnEnd & { readonly status: 'answered' | 'max_steps' | 'length' })
  | (TurnEnd & { readonly status: 'failed'; readonly error: BoundaryError })
  | (TurnEnd & { readonly status: 'aborted'; readonly reason: unknown });

export interface FinishOptions {
  /** Submitted as it is. Without one, or with null: the last assistant text, read by the scenario's answer schema. */
  readonly answer?: Json;
  readonly signal: AbortSignal;
  /** Milliseconds for the evaluation; the session's own limit where it is lower. */
  readonly limitMs?: number;
  readonly span?: TraceSpan | undefined;
}

export interface FinishResult {
  readonly answer: Json;
  readonly evaluation: Evaluation;
}

/**
 * One scenario that is played in one environment: setup, turns, finish. A chat session, a run and an evaluation sample
 * differ only in how they drive it. It records everything that happens, in the contract's order (section 4).
 *
 * Once it is open it closes its client; whoever opened it closes the session.
 */
export class ScenarioSession {
  /**
   * Sets the scenario up and lists what the agent may call.
   *
   * @throws BoundaryError boundary `setup` or `environment`; the reason of the signal. The client stays the caller's.
   */
  static async open(options: OpenSessionOptions): Promise<ScenarioSession> {
    const startedAt = performance.now();
    const limits = { ...ROLLOUT_LIMITS, ...options.limits };
    const phase = { ...options, limitMs: limits.setupMs, span: options.span ?? NO_SPAN };
    const { setup, tools } = await setUpScenario(phase, options.args);
    const session = new ScenarioSession(options, limits, setup, tools);
    options.recorder.record({
      type: 'setup.completed',
      system: setup.system,
      prompt: await options.recorder.toStored(setup.prompt),
      tools: [...session.tools],
      answer_schema: setup.answer_schema,
      duration_ms: Math.round(performance.now() - startedAt),
    });
    return session;
  }

  readonly setup: SetupResult;
  /** Tools that the model is offered. */
  readonly tools: readonly AgentTool[];
  readonly #options: OpenSessionOptions;
  readonly #limits: RolloutLimits;
  readonly #readOnlyTools: ReadonlySet<string>;
  readonly #transcript: Transcript;
  readonly #resultBudget: ResultBudget;
  readonly #closing = new AbortController();
  #turns = 0;
  #steps = 0;
  /** That of the last turn. */
  #sampling: JsonObject = {};
  #submitted: Json = null;
  #running: Promise<TurnResult> | undefined;
  #finishing: Promise<FinishResult> | undefined;
  /** The messages of a turn that failed after it had changed the environment: sent again, they resume it. */
  #unanswered: readonly PromptMessage[] | undefined;

  private constructor(
    options: OpenSessionOptions,
    limits: RolloutLimits,
    setup: SetupResult,
    tools: readonly AgentToolEntry[],
  ) {
    this.setup = setup;
    this.tools = tools.map(({ name, description, input_schema }) => ({ name, description, input_schema }));
    this.#options = options;
    this.#limits = limits;
    this.#readOnlyTools = new Set(tools.filter((tool) => tool.annotations.readOnlyHint).map((tool) => tool.name));
    this.#transcript = new Transcript(setup.system, setup.prompt);
    this.#resultBudget = new ResultBudget(limits.results);
  }

  /** Steps of all turns so far. */
  get steps(): number {
    return this.#steps;
  }

  get turns(): number {
    return this.#turns;
  }

  /** The answer that was submitted, whether it could be evaluated or not; null before. */
  get submitted(): Json {
    return this.#submitted;
  }

  /**
   * Runs one turn. Without messages the first one plays the scenario's prompt alone. A turn that failed or was aborted
   * keeps its completed steps: the same messages sent again resume it, others follow; without a completed step its
   * messages are dropped (contract section 2).
   *
   * @throws ApiError `session_busy` or `session_finished`; what the recorder failed with.
   */
  async turn(messages: readonly PromptMessage[], options: TurnOptions): Promise<TurnResult> {
    this.#refuseWhileBusy();
    if (this.#finishing !== undefined || this.#closing.signal.aborted) {
      throw new ApiError('session_finished', 'The session has ended: start a new one');
    }
    this.#running = this.#playTurn(messages, options);
    try {
      return await this.#running;
    } finally {
      this.#running = undefined;
    }
  }

  /**
   * Asks once more for an answer that fits the scenario's answer schema, in a turn of one step, sampled as the last was.
   *
   * @returns undefined where the last assistant text fits already. @throws as `turn` does.
   */
  async repairAnswer(options: Omit<TurnOptions, 'maxSteps'>): Promise<TurnResult | undefined> {
    const { answer_schema } = this.setup;
    const fitted = this.#fitLastText();
    if (answer_schema === null || fitted.fits) return undefined;
    const request = repairRequest(fitted.problem, answer_schema);
    return await this.turn([{ role: 'user', content: request }], { sampling: this.#sampling, ...options, maxSteps: 1 });
  }

  /**
   * Submits the answer and evaluates it, once: later calls get the same result, or the same error.
   *
   * @throws BoundaryError boundary `evaluate` (or `environment`); ApiError `session_busy` or `session_finished`; the
   *   reason of the signal; what the recorder failed with.
   */
  async finish(options: FinishOptions): Promise<FinishResult> {
    if (this.#finishing === undefined) {
      this.#refuseWhileBusy();
      if (this.#closing.signal.aborted) throw new ApiError('session_finished', 'The session was closed unfinished');
      this.#finishing = this.#submit(options);
    }
    return await this.#finishing;
  }

  /** Aborts what runs, waits for it, and closes the client. Never rejects; a second call does no harm. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The session was closed'));
    await Promise.allSettled([this.#running, this.#finishing]);
    await this.#options.client.close();
  }

  async #playTurn(messages: readonly PromptMessage[], options: TurnOptions): Promise<TurnResult> {
    const { recorder } = this.#options;
    const turn = ++this.#turns;
    const progress: TurnProgress = { responses: [], toolMs: 0 };
    const mark = this.#transcript.mark();
    const before = this.#unanswered;
    // A client that has no answer to them sends them again, with what it has to say since.
    const isResumed = before !== undefined && isDeepStrictEqual(messages.slice(0, before.length), before);
    const added = isResumed ? messages.slice(before.length) : messages;
    const record = (event: EventBody) => {
      recorder.record(event);
      options.onEvent?.(event);
    };
    this.#transcript.addCallerMessages(added);
    this.#unanswered = undefined;
    this.#sampling = options.sampling ?? {};
    const shown = turn === 1 && added.length === 0 ? this.setup.prompt : [...added];
    record({ type: 'turn.started', turn, messages: await recorder.toStored(shown) });

    const ending = await this.#loop(turn, progress, options, record);
    const { responses } = progress;
    this.#steps += responses.length;
    if (ending.status === 'failed' || ending.status === 'aborted') {
      if (responses.length > 0) this.#unanswered = messages;
      else {
        this.#transcript.restore(mark);
        this.#unanswered = before;
      }
    }
    record({ type: 'turn.finished', turn, status: ending.status, tool_ms: Math.round(progress.toolMs) });
    await recorder.settled(); // where it failed, that is what the turn was aborted for
    return { ...ending, turn, responses, answer: responses.at(-1)?.message.content ?? '' };
  }

  async #loop(
    turn: number,
    progress: TurnProgress,
    options: TurnOptions,
    record: (event: EventBody) => void,
  ): Promise<TurnEnding> {
    const { recorder, client, model, sampling } = this.#options;
    const signal = AbortSignal.any([options.signal, this.#closing.signal, recorder.failed]);
    try {
      const status = await runAgentLoop(this.#transcript, progress, {
        model,
        client,
        tools: this.tools,
        readOnlyTools: this.#readOnlyTools,
        sampling: { ...sampling, ...options.sampling },
        recorder: { record, settled: () => recorder.settled(), toStored: (value) => recorder.toStored(value) },
        signal,
        toolCallMs: this.#limits.toolCallMs,
        resultBudget: this.#resultBudget,
        turn,
        stepsBefore: this.#steps,
        maxSteps: options.maxSteps,
        onDelta: options.onDelta,
        span: options.span ?? NO_SPAN,
      });
      return { status };
    } catch (thrown) {
      const cause: unknown = signal.aborted ? signal.reason : thrown;
      // An environment that was lost is a failure, however the turn hears of it.
      if (cause instanceof BoundaryError) return { status: 'failed', error: cause };
      if (signal.aborted) return { status: 'aborted', reason: cause };
      throw thrown;
    }
  }

  async #submit(options: FinishOptions): Promise<FinishResult> {
    const { client, recorder, scenario } = this.#options;
    const answer = options.answer ?? this.#fitLastText().answer;
    this.#submitted = answer;
    recorder.record({ type: 'answer.submitted', answer });
    const startedAt = performance.now();
    const signal = AbortSignal.any([options.signal, this.#closing.signal, recorder.failed]);
    const limitMs = Math.min(this.#limits.evaluateMs, options.limitMs ?? Number.POSITIVE_INFINITY);
    const evaluation = await evaluateAnswer(
      { client, scenario, signal, limitMs, span: options.span ?? NO_SPAN },
      answer,
    );
    const duration_ms = Math.round(performance.now() - startedAt);
    recorder.record({ type: 'evaluation.completed', evaluation, duration_ms });
    return { answer, evaluation };
  }

  #fitLastText() {
    return fitAnswer(this.#transcript.lastAssistantText(), this.setup.answer_schema);
  }

  #refuseWhileBusy(): void {
    if (this.#running !== undefined) throw new ApiError('session_busy', 'A turn of this session is still running');
  }
}

type TurnEnding =
  | { readonly status: 'answered' | 'max_steps' | 'length' }
  | { readonly status: 'failed'; readonly error: BoundaryError }
  | { readonly status: 'aborted'; readonly reason: unknown };
