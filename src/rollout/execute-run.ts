import type { EnvironmentClient, Sampler } from '../client/environment-client.ts';
import type { Usage } from '../contract/chat.ts';
import { BoundaryError, OVER_BUDGET } from '../contract/errors.ts';
import type { UserOfSetup } from '../contract/scenario.ts';
import type { StopReason } from '../contract/trace.ts';
import { setUsage } from '../telemetry/spans.ts';
import type { TraceSpan } from '../telemetry/trace-span.ts';
import { AgentLoop } from './agent-loop.ts';
import { createRunSampler, createUser } from './harness-models.ts';
import { ROLLOUT_LIMITS } from './limits.ts';
import { RunInterrupted, type RunOptions, type RunOutcome } from './run.ts';
import { type RunClock, startRunClock } from './run-clock.ts';
import type { ScriptedTurn } from './run-script.ts';
import { withRunSpan } from './run-span.ts';
import { ScenarioSession } from './scenario-session.ts';
import { type FinishOptions, type SessionEnd, type SessionStop, stopOf, toBoundaryError } from './session-end.ts';
import type { TurnOptions, TurnResult } from './turn.ts';

/**
 * Executes one attempt of a run: a scenario session of one turn, or of those of its script, which is always evaluated, after a failure too (contract
 * section 3, "A run"). A run that fails is an outcome. Everything that was opened is closed when it returns, in every
 * ending.
 *
 * @throws AttemptSupersededError, or whatever else the recorder failed with: what cannot be recorded is stopped.
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
    // A fault of our own must not leave a run that never ends.
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
  /** Usage of each model response. */
  readonly usages: Usage[];
}

type Played = Pick<FinishOptions, 'stopReason' | 'error' | 'answer' | 'fits'>;

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

/** A call that the budget does not pay for ends the run: to the environment it would look like any failure of a judge. */
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

/** The turns, and the repair of the last answer. Failures are its result. */
async function play(run: Run): Promise<Played> {
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
    // A repair that brought nothing better leaves the run answered: what there is is submitted as text.
    return toPlayed(repair?.status === 'failed' || repair?.status === 'aborted' ? repair : turn);
  } catch (thrown) {
    if (clock.signal.aborted) return { stopReason: 'timeout', error: null };
    // The session has ended by it already, and says how; or its user has failed.
    return { stopReason: 'error', error: toBoundaryError(thrown, 'worker') };
  }
}

/** How the turns ended: by the last one, or by its stop reason. */
interface PlayedTurns {
  readonly turn: TurnResult;
  readonly stopReason?: StopReason;
}

/** The turns of the script where there is one, else of the agent and its user. */
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

/** The turns with a simulated user, until one of the two has ended the conversation. */
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

function toPlayed(turn: TurnResult): Played {
  if (turn.status === 'failed') return { stopReason: 'error', error: turn.error };
  return { stopReason: turn.status === 'aborted' ? 'timeout' : turn.status, error: null };
}

/** Released: the next attempt writes on from here, so all of this one's events have to be written before. */
function toStop(reason: unknown): SessionStop {
  const isReleased = reason instanceof RunInterrupted && reason.kind === 'released';
  return { status: isReleased ? 'released' : 'cancelled', stopReason: 'cancelled', error: null, reason };
}

function toOutcome({ status, stopReason, answer, reward, error }: SessionEnd): RunOutcome {
  if (status === 'released') return { status };
  const body = error?.toBody() ?? null;
  return status === 'lost' ? { status, error: body } : { status, stopReason, answer, reward, error: body };
}
