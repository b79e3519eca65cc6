import type { Usage } from '../../contract/chat.ts';
import { BoundaryError, OVER_BUDGET } from '../../contract/errors.ts';
import type { UserOfSetup } from '../../contract/scenario.ts';
import type { StopReason } from '../../contract/service/trace.ts';
import type { EnvironmentClient, Sampler } from '../../environment/client/environment-client.ts';
import { setUsage } from '../../support/telemetry/spans.ts';
import type { TraceSpan } from '../../support/telemetry/trace-span.ts';
import { AgentLoop } from './agent-loop.ts';
import { createRunSampler, createUser } from './judge/harness-models.ts';
import { ROLLOUT_LIMITS } from './limits.ts';
import { RunInterrupted, type RunOptions, type RunOutcome } from './run.ts';
import { type RunClock, startRunClock } from './run-clock.ts';
import type { ScriptedTurn } from './run-script.ts';
import { withRunSpan } from './run-span.ts';
import { ScenarioSession } from './scenario-session.ts';
import { type FinishOptions, type SessionEnd, type SessionStop, stopOf, toBoundaryError } from './session-end.ts';
import type { TurnOptions, TurnResult } from './turn.ts';

/**
 * Executes one attempt of a run: a scenario session of one turn, or of its script's turns. It is always evaluated, even
 * after a failure (contract section 3, "A run"). A failed run is a result, not an error. Everything that was opened is
 * closed when it returns or throws.
 *
 * @throws AttemptSupersededError, or the error with which the recorder failed: a run that cannot be recorded is
 *   stopped.
 */
export async function executeRun(options: RunOptions): Promise<RunOutcome> {
  return await withRunSpan(options, async (span) => {
    const end = await execute(options, span);
    options.recorder.failed.throwIfAborted();
    return toOutcome(end);
  });
}

async function execute(options: RunOptions, span: TraceSpan): Promise<SessionEnd> {
  const run = startRun(options, span);
  const { session, clock } = run;
  const interrupt = () => void session.stop(toStop(options.signal.reason)).catch(() => {}); // The recorder keeps it.
  options.signal.addEventListener('abort', interrupt, { once: true });
  try {
    const playing = play(run);
    if (options.signal.aborted) interrupt();
    const played = await playing;
    const limitMs = clock.remainingMs() + (options.limits?.graceMs ?? ROLLOUT_LIMITS.graceMs);
    return await session.finish({ ...played, limitMs, span });
  } catch (thrown) {
    // An internal error must not leave a run without an end.
    return await session.stop(stopOf(thrown));
  } finally {
    options.signal.removeEventListener('abort', interrupt);
    clock.clear();
    await session.closed;
  }
}

interface Run {
  readonly options: RunOptions;
  readonly session: ScenarioSession;
  readonly clock: RunClock;
  readonly span: TraceSpan;
  /** Token usage of each model response. */
  readonly usages: Usage[];
}

type TurnsEnd = Pick<FinishOptions, 'stopReason' | 'error' | 'answer' | 'fits'>;

function startRun(options: RunOptions, span: TraceSpan): Run {
  const clock = startRunClock(options);
  const { request, recorder, worker, limits, script, environmentHash = null } = options;
  const { scenario_name: scenario, scenario_args: args, seed, sampling, model } = request;
  const session = new ScenarioSession({
    id: options.trace?.traceId ?? scenario,
    scenario,
    args,
    seed,
    setupSeed: script === undefined ? seed : script.seed,
    connect: async (connectOptions) => {
      const onAdmitted = () => {
        clock.begin();
        connectOptions.onAdmitted?.();
      };
      return await options.connect({ ...connectOptions, onAdmitted });
    },
    createAgent: (context) => {
      const createModel = () => options.createModel(model, context);
      if (script !== undefined) return script.createAgent(createModel);
      return options.createAgent?.() ?? new AgentLoop(createModel());
    },
    ...((script === undefined || script.words !== undefined) && {
      createUser: (user: UserOfSetup, client: EnvironmentClient) =>
        createUser(user, { client, seed, args, options, recorded: script?.words }),
    }),
    createSampler: (to, ended) =>
      whilePaid(createRunSampler(options, to, ended), (unpaid) => {
        void session.stop(stopOf(unpaid)).catch(() => {}); // The recorder keeps it.
      }),
    sampling: seed === null ? sampling : { ...sampling, seed },
    recorder,
    worker,
    environmentHash,
    limits,
    isAttempt: true,
  });
  return { options, session, clock, span, usages: [] };
}

/** Ends the run at a call that the budget does not cover. The environment would take it for a failure of the judge. */
function whilePaid(sampler: Sampler, end: (unpaid: BoundaryError) => void): Sampler {
  return async (request) => {
    try {
      return await sampler(request);
    } catch (thrown) {
      if (thrown instanceof BoundaryError && thrown.code === OVER_BUDGET) end(thrown);
      throw thrown;
    }
  };
}

/** Plays the turns and the repair of the last answer. Failures are part of the result. */
async function play(run: Run): Promise<TurnsEnd> {
  const { options, session, clock, span } = run;
  const { script } = options;
  const maxSteps = options.request.max_steps;
  const turnOptions = { signal: clock.signal, onDelta: options.onDelta, onWait: clock.onWait, span };
  try {
    const { turn, stopReason } = await playTurns(run, turnOptions);
    if (script?.finish !== undefined && !isUnexpected(turn, script.turns[turn.turn - 1])) return script.finish;
    if (stopReason !== undefined) return { stopReason, error: null };
    if (turn.status !== 'answered' || session.steps >= maxSteps) return toPlayed(turn);
    const repair = await session.repairAnswer(turnOptions);
    if (repair !== undefined) addUsage(run, repair);
    // If the repair gave nothing better, the run still counts as answered, and the plain text is submitted.
    return toPlayed(repair?.status === 'failed' || repair?.status === 'aborted' ? repair : turn);
  } catch (thrown) {
    if (clock.signal.aborted) return { stopReason: 'timeout', error: null };
    // The session has ended with this error already, or its user has failed.
    return { stopReason: 'error', error: toBoundaryError(thrown, 'worker') };
  }
}

/** The last turn, and the stop reason if the turn does not imply it. */
interface PlayedTurns {
  readonly turn: TurnResult;
  readonly stopReason?: StopReason;
}

/** Plays the turns of the script if there is one, otherwise those of the agent and its user. */
async function playTurns(run: Run, options: Omit<TurnOptions, 'maxSteps'>): Promise<PlayedTurns> {
  const { session } = run;
  const { request, script } = run.options;
  if (script === undefined) {
    return await converse(
      run,
      addUsage(run, await session.turn([], { ...options, maxSteps: request.max_steps })),
      options,
    );
  }
  let last: TurnResult | undefined;
  for (const turn of script.turns) {
    const signal = AbortSignal.any([options.signal, turn.cut]);
    const maxSteps = Math.max(1, request.max_steps - session.steps);
    last = addUsage(run, await session.turn(turn.messages, { ...options, signal, maxSteps }));
    if (isUnexpected(last, turn)) break;
    if (turn.hasReply) await session.user?.next(last.turn, options.signal);
  }
  if (last === undefined) throw new TypeError('A script has one turn or more');
  return script.finish === undefined ? await converse(run, last, options) : { turn: last };
}

function isUnexpected({ status }: TurnResult, turn: ScriptedTurn | undefined): boolean {
  return (status === 'failed' || status === 'aborted') && turn?.cut.aborted !== true;
}

/** Plays the turns with a simulated user until one of the two ends the conversation. */
async function converse(run: Run, first: TurnResult, options: Omit<TurnOptions, 'maxSteps'>): Promise<PlayedTurns> {
  const { session } = run;
  let turn = first;
  while (turn.status === 'answered' && session.user !== undefined) {
    const next = await session.user.next(turn.turn, options.signal);
    if (next.kind === 'over') return { turn };
    if (next.kind === 'user_turns') return { turn, stopReason: 'user_turns' };
    const maxSteps = run.options.request.max_steps - session.steps;
    if (maxSteps < 1) return { turn, stopReason: 'max_steps' };
    turn = addUsage(run, await session.turn(next.messages, { ...options, maxSteps }));
  }
  return { turn };
}

function addUsage(run: Run, turn: TurnResult): TurnResult {
  run.usages.push(...turn.responses.map(({ usage }) => usage));
  setUsage(run.span, run.usages);
  return turn;
}

function toPlayed(turn: TurnResult): TurnsEnd {
  if (turn.status === 'failed') return { stopReason: 'error', error: turn.error };
  return { stopReason: turn.status === 'aborted' ? 'timeout' : turn.status, error: null };
}

/** A released run is continued by the next attempt, so all events of this attempt have to be written first. */
function toStop(reason: unknown): SessionStop {
  const isReleased = reason instanceof RunInterrupted && reason.kind === 'released';
  return { status: isReleased ? 'released' : 'cancelled', stopReason: 'cancelled', error: null, reason };
}

function toOutcome({ status, stopReason, answer, reward, error }: SessionEnd): RunOutcome {
  if (status === 'released') return { status };
  const body = error?.toBody() ?? null;
  return status === 'lost' ? { status, error: body } : { status, stopReason, answer, reward, error: body };
}
