import type { ConnectOptions, EnvironmentClient } from '../client/environment-client.ts';
import { ApiError, BoundaryError } from '../contract/errors.ts';
import type { EventOf } from '../contract/event.ts';
import type { Json } from '../contract/json.ts';
import { SUBMIT_ANSWER } from '../contract/seat.ts';
import type { ReferenceContext } from '../model/chat-model.ts';
import type { Models } from '../model/create-model.ts';
import type { Redactor } from '../redaction/redactor.ts';
import type { AgentTurn } from '../rollout/agent.ts';
import { createRunSampler, createUser } from '../rollout/harness-models.ts';
import { ROLLOUT_LIMITS, RunTimeoutError } from '../rollout/limits.ts';
import { RunInterrupted } from '../rollout/run.ts';
import { ScenarioSession } from '../rollout/scenario-session.ts';
import { type FinishOptions, type SessionEnd, stopOf } from '../rollout/session-end.ts';
import type { TurnResult } from '../rollout/turn.ts';
import { inWords } from '../runtime/deadline.ts';
import { type Deadline, startDeadline } from '../runtime/start-deadline.ts';
import { failWith, startAgentSpan } from '../telemetry/spans.ts';
import { TraceSpan } from '../telemetry/trace-span.ts';
import type { EventRecorder } from '../trace/event-recorder.ts';
import { SeatAgent } from './seat-agent.ts';

export interface OpenSeatOptions {
  readonly traceId: string;
  readonly request: EventOf<'run.queued'> | Omit<EventOf<'run.queued'>, 'type' | 'previous_end' | 'previous_error'>;
  /** A fresh environment for this seat alone, which closes it. */
  connect(options: ConnectOptions): Promise<EnvironmentClient>;
  readonly recorder: EventRecorder;
  /** Name of the owner, for the trace. */
  readonly worker: string;
  readonly environmentHash: string | null;
  /** Whether the model calls of its agent come here too: then `max_steps` counts them. */
  readonly hasModel: boolean;
  /** Makes the models that its harness asks: users and judges. */
  readonly models: Pick<Models, 'create' | 'harness'>;
  /** True: each tool call is a step of its trace, as a model's response with one call. Default false. */
  readonly hasCallSteps?: boolean;
  /** Milliseconds that all of it may take. Default: the request's `timeout_seconds`. */
  readonly limitMs?: number;
  /** Takes secrets out of its span. */
  readonly redactor: Redactor;
}

/**
 * A run that an agent plays from outside: a scenario session of one turn, in which the agent calls tools until it
 * answers. It ends by an answer, when its calls or its time are used up, by `cancel` and `fail`, or with its environment.
 */
export class OpenSeat {
  readonly traceId: string;
  readonly options: OpenSeatOptions;
  readonly agent: SeatAgent;
  readonly #session: ScenarioSession;
  readonly #deadline: Deadline;
  readonly #idle = new AbortController();
  readonly #span: TraceSpan;
  #ended: Promise<SessionEnd | undefined> = Promise.resolve(undefined);

  constructor(options: OpenSeatOptions) {
    const { traceId, request, recorder, worker, environmentHash, redactor } = options;
    const {
      env_name: environment,
      scenario_name: scenario,
      scenario_args: args,
      seed,
      sampling,
      model,
      origin,
    } = request;
    this.traceId = traceId;
    this.options = options;
    this.agent = new SeatAgent({ hasModel: options.hasModel, hasCallSteps: options.hasCallSteps });
    const asking = {
      request: { previous_end: null, ...request, type: 'run.queued' as const },
      harnessModels: options.models.harness,
      createModel: (name: string, context: ReferenceContext) => options.models.create(name, context),
    };
    this.#session = new ScenarioSession({
      id: traceId,
      scenario,
      args,
      seed,
      connect: (connectOptions) => options.connect(connectOptions),
      createAgent: () => this.agent,
      createUser: (user, client) => createUser(user, { client, seed, args, options: asking }),
      createSampler: (to, over) => createRunSampler(asking, to, over),
      sampling: seed === null ? sampling : { ...sampling, seed },
      recorder,
      worker,
      environmentHash,
    });
    const limitMs = options.limitMs ?? request.timeout_seconds * 1_000;
    this.#deadline = startDeadline(limitMs, (limit) => new RunTimeoutError(limit));
    const root = TraceSpan.root({ traceId, redactor });
    this.#span = startAgentSpan(root, { environment, scenario, model, origin, attempt: 1 });
  }

  /** Resolves when it has ended, its trace is written and its environment closed; undefined where nothing could be written. */
  get ended(): Promise<SessionEnd | undefined> {
    return this.#ended;
  }

  /** True once nothing of the agent is taken any more; the evaluation may go on. */
  get isOver(): boolean {
    return this.agent.isOver || this.#session.end !== undefined;
  }

  /**
   * Connects the environment and sets the scenario up. Called once.
   *
   * @throws BoundaryError boundary `environment` or `setup`, ApiError `capacity_exceeded`, or what it was ended with
   *   meanwhile. Its trace has ended then, and says why.
   */
  async open(): Promise<AgentTurn> {
    const turn = this.#span.run(() =>
      this.#session.turn([], {
        maxSteps: this.options.request.max_steps,
        signal: AbortSignal.any([this.#deadline.signal, this.#idle.signal]),
        span: this.#span,
      }),
    );
    this.#ended = this.#conclude(turn);
    try {
      const begun = await Promise.race([this.agent.begun, turn]);
      if ('setup' in begun) return begun;
    } catch (thrown) {
      if (thrown instanceof ApiError || thrown instanceof BoundaryError) throw thrown;
      throw (await this.#ended)?.error ?? this.#isOverAlready();
    }
    throw this.#isOverAlready();
  }

  /** Ends the run with this answer. @returns false where it was over already: the first end counts. */
  submit(answer: Json): boolean {
    return this.agent.answer(answer);
  }

  /** Ends it because its agent has not been heard of for so many milliseconds. */
  expire(idleMs: number): void {
    this.#idle.abort(new SeatIdleError(inWords(idleMs)));
  }

  /** Ends it without an evaluation. Never rejects. */
  async cancel(stopReason: 'cancelled' | 'abandoned' | 'expired' = 'cancelled'): Promise<void> {
    const reason = new RunInterrupted('cancelled');
    await this.#session.stop({ status: 'cancelled', stopReason, error: null, reason }).catch(() => {});
    await this.#ended;
  }

  /** Ends it as failed; an evaluation that goes on decides, where it ends in time. Never rejects. */
  async fail(cause: unknown, graceMs = 0): Promise<void> {
    const deadline = startDeadline(graceMs, () => cause);
    const terminate = () => void this.#session.stop(stopOf(cause)).catch(() => {}); // A failed write cannot be told.
    if (this.isOver && graceMs > 0) deadline.signal.addEventListener('abort', terminate, { once: true });
    else terminate();
    await this.#ended;
    deadline.clear();
  }

  async #conclude(playing: Promise<TurnResult>): Promise<SessionEnd | undefined> {
    try {
      const turn = await playing;
      return await this.#session.finish(this.#toFinish(turn));
    } catch (thrown) {
      // The session has ended by it already, or does now.
      return await this.#session.stop(stopOf(thrown)).catch(() => undefined);
    } finally {
      this.#deadline.clear();
      await this.#session.closed;
      this.#endSpan();
    }
  }

  #toFinish(turn: TurnResult): FinishOptions {
    const span = this.#span;
    if (turn.status === 'answered') return { stopReason: 'answered', span };
    if (turn.status === 'failed') return { stopReason: 'error', error: turn.error, span };
    if (turn.status !== 'aborted') return { stopReason: turn.status, span };
    // Its last text counts, where its model's texts are seen here.
    if (this.agent.lastText !== null) return { stopReason: 'timeout', limitMs: ROLLOUT_LIMITS.graceMs, span };
    const message = turn.reason instanceof Error ? turn.reason.message : 'The turn was aborted';
    const error = new BoundaryError(
      'agent',
      'turn_timeout',
      `${message}, and the agent has given no answer (${SUBMIT_ANSWER})`,
    );
    return { stopReason: 'timeout', error, limitMs: ROLLOUT_LIMITS.graceMs, span };
  }

  #isOverAlready(): ApiError {
    return new ApiError('run_finished', `The run of trace ${this.traceId} was ended before its agent could begin.`);
  }

  #endSpan(): void {
    const { end } = this.#session;
    this.#span.set({ 'proctor.status': end?.status ?? 'lost' });
    if (end !== undefined) this.#span.set({ 'proctor.stop_reason': end.stopReason });
    if (end?.error) failWith(this.#span, end.error);
    this.#span.end();
  }
}

/** Why a seat is ended whose agent has gone away. */
class SeatIdleError extends Error {
  override readonly name = 'SeatIdleError';

  /** @param limit in words, such as `10 minutes`. */
  constructor(limit: string) {
    super(`The seat has had no request for ${limit}`);
  }
}
