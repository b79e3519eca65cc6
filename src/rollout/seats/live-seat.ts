import { ApiError, BoundaryError } from '../../contract/errors.ts';
import type { Json } from '../../contract/json.ts';
import type { EventOf } from '../../contract/service/event.ts';
import { SUBMIT_ANSWER } from '../../contract/service/seat.ts';
import type { ConnectOptions, EnvironmentClient } from '../../environment/client/environment-client.ts';
import type { ReferenceContext } from '../../models/gateway/chat-model.ts';
import type { Models } from '../../models/gateway/create-model.ts';
import type { EventRecorder } from '../../store/traces/event-recorder.ts';
import type { Redactor } from '../../support/redaction/redactor.ts';
import { type Deadline, startDeadline } from '../../support/runtime/start-deadline.ts';
import { failWith, startAgentSpan } from '../../support/telemetry/spans.ts';
import { TraceSpan } from '../../support/telemetry/trace-span.ts';
import { durationText } from '../../support/text/figures.ts';
import type { AgentTurn } from '../session/agent.ts';
import { createRunSampler, createUser } from '../session/judge/harness-models.ts';
import { ROLLOUT_LIMITS, RunTimeoutError } from '../session/limits.ts';
import { RunInterrupted } from '../session/run.ts';
import { ScenarioSession } from '../session/scenario-session.ts';
import { type FinishOptions, type SessionEnd, stopOf } from '../session/session-end.ts';
import type { TurnResult } from '../session/turn.ts';
import { SeatAgent } from './seat-agent.ts';

export interface LiveSeatOptions {
  readonly traceId: string;
  readonly request: EventOf<'run.queued'> | Omit<EventOf<'run.queued'>, 'type' | 'previous_end' | 'previous_error'>;
  /** Connects a fresh environment for this seat, which closes it. */
  connect(options: ConnectOptions): Promise<EnvironmentClient>;
  readonly recorder: EventRecorder;
  /** Name of the worker that owns the seat, for the trace. */
  readonly worker: string;
  readonly environmentHash: string | null;
  /** True if the agent's model calls go through this seat. `max_steps` counts them then. */
  readonly hasModel: boolean;
  /** Makes models for the simulated user and for judges. */
  readonly models: Pick<Models, 'create' | 'harness'>;
  /** True records each tool call as a step, with a model response of one call. Default false. */
  readonly hasCallSteps?: boolean;
  /** Milliseconds for the whole run. Default: the request's `timeout_seconds`. */
  readonly limitMs?: number;
  /** Removes secrets from the span. */
  readonly redactor: Redactor;
}

/**
 * A run that an outside agent plays: a scenario session of one turn, in which the agent calls tools until it answers.
 * An answer, a used-up limit of calls or time, `cancel`, `fail` or the end of its environment ends it.
 */
export class LiveSeat {
  readonly traceId: string;
  readonly options: LiveSeatOptions;
  readonly agent: SeatAgent;
  readonly #session: ScenarioSession;
  readonly #deadline: Deadline;
  readonly #idle = new AbortController();
  readonly #span: TraceSpan;
  #ended: Promise<SessionEnd | undefined> = Promise.resolve(undefined);

  constructor(options: LiveSeatOptions) {
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

  /** Resolves when the trace is written and the environment is closed; undefined if nothing could be written. */
  get ended(): Promise<SessionEnd | undefined> {
    return this.#ended;
  }

  /** True once the agent can do nothing more. The evaluation may still run. */
  get isOver(): boolean {
    return this.agent.isOver || this.#session.end !== undefined;
  }

  /**
   * Connects the environment and runs the setup. Called once.
   *
   * @throws BoundaryError boundary `environment` or `setup`, ApiError `capacity_exceeded`, or the cause with which the
   *   seat ended meanwhile. The trace has ended then and has the reason.
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

  /** Ends the run with this answer. @returns false if it was over already: the first end counts. */
  submit(answer: Json): boolean {
    return this.agent.answer(answer);
  }

  /** Ends the run because its agent sent no request for so many milliseconds. */
  expire(idleMs: number): void {
    this.#idle.abort(new Error(`The seat has had no request for ${durationText(idleMs)}`));
  }

  /** Ends the run without an evaluation. Never rejects. */
  async cancel(stopReason: 'cancelled' | 'abandoned' | 'expired' = 'cancelled'): Promise<void> {
    const reason = new RunInterrupted('cancelled');
    await this.#session.stop({ status: 'cancelled', stopReason, error: null, reason }).catch(() => {});
    await this.#ended;
  }

  /** Ends the run as failed. An evaluation in progress has `graceMs` to finish and then decides. Never rejects. */
  async fail(cause: unknown, graceMs = 0): Promise<void> {
    const deadline = startDeadline(graceMs, () => cause);
    const terminate = () => void this.#session.stop(stopOf(cause)).catch(() => {}); // No caller is left for an error.
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
      // The session has ended with this error already, or ends with it now.
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
    // The agent's last text counts if its model's texts pass through here.
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
