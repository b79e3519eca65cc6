import { AGENT_WITHOUT_TOOLS, messageOf } from '../../contract/errors.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { Evaluation, PromptMessage, SetupResult } from '../../contract/scenario.ts';
import type { EnvironmentClient } from '../../environment/client/environment-client.ts';
import { startDeadline } from '../../support/runtime/start-deadline.ts';
import { NO_SPAN, type TraceSpan } from '../../support/telemetry/trace-span.ts';
import type { TurnProgress } from './agent.ts';
import { fitLastText, repairRequest } from './answer.ts';
import { ROLLOUT_LIMITS, type RolloutLimits } from './limits.ts';
import { ResultBudget } from './result-budget.ts';
import { evaluateAnswer } from './scenario-phases.ts';
import { type Opening, openStage, type Stage, type StageOptions } from './scenario-setup.ts';
import {
  blameEnvironment,
  type FinishOptions,
  gradedEnding,
  type SessionEnd,
  type SessionEnding,
  type SessionStop,
  stopOf,
  toEndEvents,
  toSessionEnd,
  ungradedEnding,
} from './session-end.ts';
import { assertFree, type SessionState } from './session-state.ts';
import { type TurnEnding, type TurnOptions, type TurnResult, tapRecorder, toCutTurn } from './turn.ts';
import type { UserConversation } from './user/user-conversation.ts';

export interface ScenarioSessionOptions extends StageOptions {
  /** Forwarded to the gateway with every request. */
  readonly sampling: JsonObject;
  readonly limits?: Partial<RolloutLimits> | undefined;
  /** Called after the session has ended and its trace is stored. */
  onEnded?(): Promise<void>;
}

/**
 * One scenario that is played in one environment. The first turn opens it; more turns follow one after the other, then
 * the end. Chat sessions, runs and evaluation samples differ only in how they use it. It owns the state
 * (`SessionState`): the first caller that ends it decides how, and all others get that end. It records every event in
 * the contract's order (section 4). The caller must end it with `finish` or `stop`; a turn that throws also ends it.
 */
export class ScenarioSession {
  readonly #options: ScenarioSessionOptions;
  readonly #limits: RolloutLimits;
  readonly #resultBudget: ResultBudget;
  /** Aborted with the reason of a stop. */
  readonly #stopping = new AbortController();
  /** Aborted with the error that explains how the environment was lost. */
  readonly #losing = new AbortController();
  #state: SessionState = { phase: 'new' };
  #stop: SessionStop | undefined;
  #client: EnvironmentClient | undefined;
  #stage: Stage | undefined;
  #turns = 0;
  #repairs = 0;
  #steps = 0;
  #submitted: Json = null;
  #lastSampling: JsonObject = {};
  #closed: Promise<void> = Promise.resolve();

  constructor(options: ScenarioSessionOptions) {
    this.#options = options;
    this.#limits = { ...ROLLOUT_LIMITS, ...options.limits };
    this.#resultBudget = new ResultBudget(this.#limits.results);
  }

  get phase(): SessionState['phase'] {
    return this.#state.phase;
  }

  /** End of the session; undefined before it has ended. */
  get end(): SessionEnd | undefined {
    return this.#state.phase === 'ended' ? this.#state.end : undefined;
  }

  /** Result of the setup; undefined before it is done. */
  get setup(): SetupResult | undefined {
    return this.#stage?.setup;
  }

  /** The user that gets the agent's texts; undefined before setup, without a user, and if a tool is used. */
  get user(): UserConversation | undefined {
    return this.#stage?.agent.playsOnce ? undefined : this.#stage?.user;
  }

  /** Number of started turns, without the repair of an answer. */
  get turns(): number {
    return this.#turns - this.#repairs;
  }

  /** Completed steps of all turns. */
  get steps(): number {
    return this.#steps;
  }

  /** Aborted with a BoundaryError when the environment is lost. A turn in progress fails, and no other can follow. */
  get lost(): AbortSignal {
    return this.#losing.signal;
  }

  /** Resolves when the environment of an ended session is closed. Never rejects. */
  get closed(): Promise<void> {
    return this.#closed;
  }

  /** @throws ApiError `session_busy` or `session_finished` if no turn can begin now. */
  assertFree(): void {
    assertFree(this.#options.id, this.#state);
  }

  /**
   * Plays one turn; the first one opens the session. A first turn without messages plays only the scenario's prompt. A
   * turn that failed or was aborted keeps its completed steps: sending the same messages again resumes it, and other
   * messages follow it. Without a completed step its messages are dropped (contract section 2).
   *
   * @throws ApiError `session_busy` or `session_finished`. Any other error has ended the session: BoundaryError
   *   `model`, `environment` or `setup` if it could not be opened; the signal's reason if it was aborted while opening;
   *   the error with which the recorder failed.
   */
  async turn(messages: readonly PromptMessage[], options: TurnOptions): Promise<TurnResult> {
    assertFree(this.#options.id, this.#state, options);
    const { recorder } = this.#options;
    const { span = NO_SPAN, sampling = {} } = options;
    const isRepair = this.#state.phase === 'finishing';
    const leave = isRepair ? () => {} : this.#enterTurn();
    const turn = ++this.#turns;
    const stopped = AbortSignal.any([options.signal, this.#stopping.signal, recorder.failed]);
    // The setup reports a lost environment itself.
    const signal = AbortSignal.any([stopped, this.lost]);
    try {
      this.#stage ??= await openStage(this.#options, this.#opening(stopped, span, options.onWait));
      if (this.#state.phase === 'opening') this.#state = { phase: 'turn', over: this.#state.over };
      const { transcript, agent, user, ...stage } = this.#stage;
      const written = tapRecorder(recorder, options.onEvent);
      const added = transcript.beginTurn((turn === 1 && (await user?.begin(signal))) || messages);
      this.#lastSampling = sampling;
      const shown = turn === 1 && added.length === 0 ? stage.setup.prompt : [...added];
      written.record({ type: 'turn.started', turn, messages: await recorder.toStored(shown) });
      const progress: TurnProgress = { responses: [], toolMs: 0 };
      let ending: TurnEnding;
      try {
        const status = await agent.takeTurn({
          ...options,
          ...stage,
          turn,
          stepsBefore: this.#steps,
          transcript,
          progress,
          ...(agent.playsOnce && { user, setup: { ...stage.setup, prompt: shown } }),
          sampling: { ...this.#options.sampling, ...sampling },
          recorder: written,
          signal,
          toolCallMs: this.#limits.toolCallMs,
          resultBudget: this.#resultBudget,
          span,
        });
        ending = { status };
      } catch (thrown) {
        ending = toCutTurn(thrown, signal);
        transcript.cutTurn(progress.responses.length > 0);
      }
      const { responses } = progress;
      this.#steps += responses.length;
      written.record({ type: 'turn.finished', turn, status: ending.status, tool_ms: Math.round(progress.toolMs) });
      await recorder.settled(); // If the recorder failed, its error is what aborted the turn.
      return { ...ending, turn, responses, answer: responses.at(-1)?.message.content ?? '' };
    } catch (thrown) {
      const boundary = this.#state.phase === 'opening' ? this.#state.boundary : 'worker';
      leave();
      if (!isRepair) await this.stop(stopOf(thrown, boundary)).catch(() => {}); // The caller gets what was thrown.
      throw thrown;
    } finally {
      leave();
    }
  }

  /**
   * Asks once more for an answer that fits the scenario's answer schema, in a turn of one step with the last sampling.
   *
   * @returns undefined if the last assistant text fits already. @throws as `turn` does.
   */
  async repairAnswer(options: Omit<TurnOptions, 'maxSteps'>): Promise<TurnResult | undefined> {
    const answer_schema = this.setup?.answer_schema ?? null;
    const fitted = fitLastText(this.#stage);
    if (answer_schema === null || fitted.fits || this.#stage?.agent.playsOnce) return undefined;
    const turn = { sampling: this.#lastSampling, ...options, maxSteps: 1 };
    if (this.#state.phase === 'finishing') {
      this.#state = { ...this.#state, repair: turn };
      this.#repairs += 1;
    }
    return await this.turn([{ role: 'user', content: repairRequest(fitted.problem, answer_schema) }], turn);
  }

  /**
   * Submits the answer, evaluates it and ends the session. Later calls get the same end. A failed evaluation ends it.
   *
   * @returns the end of the session, even if another call caused it. @throws ApiError `session_busy`; recorder error.
   */
  async finish(options: FinishOptions): Promise<SessionEnd> {
    const state = this.#state;
    if (state.phase === 'ended') return state.end;
    if (state.phase === 'finishing' || state.phase === 'stopping') return await state.done;
    this.assertFree();
    // `#grade` starts after the state has changed.
    const done = Promise.resolve().then(() => this.#grade(options));
    this.#state = { phase: 'finishing', done, repair: undefined };
    return await done;
  }

  /**
   * Aborts the work in progress, including an evaluation, waits for it, and ends the session. A session that is
   * stopping or has ended keeps its end.
   *
   * @returns the end of the session. @throws the error with which the recorder failed.
   */
  async stop(stop: SessionStop): Promise<SessionEnd> {
    const state = this.#state;
    if (state.phase === 'ended') return state.end;
    if (state.phase === 'stopping') return await state.done;
    this.#stop ??= stop;
    this.#stopping.abort(this.#stop.reason);
    if (state.phase === 'finishing') return await state.done;
    const over = 'over' in state ? state.over : Promise.resolve();
    // The last events of the turn come before the end.
    const done = over.then(() => this.#conclude(stop));
    this.#state = { phase: 'stopping', done };
    return await done;
  }

  /** @returns a function that leaves the turn: the session is idle again, or its stop continues. */
  #enterTurn(): () => void {
    let end = () => {};
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#state = this.#stage === undefined ? { phase: 'opening', boundary: 'model', over } : { phase: 'turn', over };
    return () => {
      end();
      if ('over' in this.#state && this.#state.over === over) this.#state = { phase: 'idle' };
    };
  }

  /** Callbacks and signals for the opening of the session. */
  #opening(signal: AbortSignal, span: TraceSpan, onWait: TurnOptions['onWait']): Opening {
    return {
      signal,
      span,
      onWait,
      setupMs: this.#limits.setupMs,
      ended: AbortSignal.any([this.#stopping.signal, this.lost, this.#options.recorder.failed]),
      enter: (boundary) => {
        if (this.#state.phase === 'opening') this.#state = { ...this.#state, boundary };
      },
      onConnected: (client) => {
        this.#client = client;
        void client.lost?.then((cause) => {
          this.#losing.abort(cause);
          if (this.#state.phase === 'idle') void this.stop(stopOf(cause)).catch(() => {}); // No caller waits.
        });
      },
    };
  }

  async #grade(options: FinishOptions): Promise<SessionEnd> {
    let ending: SessionEnding;
    try {
      if (options.repairs === true) {
        const toError = (limit: string) => new Error(`The answer was not repaired within ${limit}`);
        const { signal, clear } = startDeadline(this.#limits.repairMs, toError);
        await this.repairAnswer({ signal, span: options.span }).finally(clear);
      }
      const isGraded = options.error?.code !== AGENT_WITHOUT_TOOLS;
      ending = isGraded ? gradedEnding(options, await this.#evaluate(options)) : ungradedEnding(options, null);
    } catch (thrown) {
      if (options.error && this.#stop === undefined) {
        const message = `The evaluation after the failure failed too: ${messageOf(thrown)}`;
        this.#options.recorder.record({ type: 'log', level: 'warning', logger: 'proctor', message });
      }
      ending = this.#stop ?? ungradedEnding(options, thrown);
    }
    // A cancelled judge records its cost before the end, because nothing is written after that.
    await this.#stage?.questionsOver();
    return await this.#conclude(ending);
  }

  async #evaluate(options: FinishOptions): Promise<Evaluation> {
    if (this.#stage === undefined) throw new Error('The session ended before its first turn');
    const { answer = this.#stage.agent.submitted ?? null, fits = true, span = NO_SPAN } = options;
    const limitMs = Math.min(this.#limits.evaluateMs, options.limitMs ?? this.#limits.evaluateMs);
    const submitted = answer === null ? fitLastText(this.#stage) : { answer, fits };
    this.#submitted = submitted.answer;
    const { recorder, scenario } = this.#options;
    const signal = AbortSignal.any([this.#stopping.signal, recorder.failed]);
    const { client, setup, transcript, unanswered } = this.#stage;
    const conversation = setup.user && transcript.conversation();
    const phase = { client, scenario, signal, limitMs, span, unanswered };
    return await evaluateAnswer(phase, { ...submitted, conversation }, recorder);
  }

  /** Writes the end and closes the environment. The end is returned only after it is stored. */
  async #conclude(ending: SessionEnding): Promise<SessionEnd> {
    const { recorder, onEnded, isAttempt } = this.#options;
    const settled = isAttempt ? blameEnvironment(ending, this.#client, this.lost.aborted) : ending;
    let end = toSessionEnd(settled, this.#submitted);
    for (const event of toEndEvents(end)) recorder.record(event);
    try {
      await recorder.end();
      return end;
    } catch (thrown) {
      if (end.status === 'completed') end = toSessionEnd(stopOf(thrown), this.#submitted);
      throw thrown;
    } finally {
      this.#state = { phase: 'ended', end };
      this.#closed = this.#client?.close() ?? this.#closed;
      await onEnded?.();
    }
  }
}
