import type { Usage } from '../contract/chat.ts';
import type { BoundaryError } from '../contract/errors.ts';
import type { StopReason } from '../contract/trace.ts';
import { setUsage } from '../telemetry/spans.ts';
import type { TraceSpan } from '../telemetry/trace-span.ts';
import { AgentLoop } from './agent-loop.ts';
import { ROLLOUT_LIMITS } from './limits.ts';
import { RunInterrupted, type RunOptions, type RunOutcome } from './run.ts';
import { type RunClock, startRunClock } from './run-clock.ts';
import { withRunSpan } from './run-span.ts';
import { ScenarioSession } from './scenario-session.ts';
import { type SessionEnd, type SessionStop, stopOf, toBoundaryError } from './session-end.ts';
import type { TurnResult } from './turn.ts';

/**
 * Executes one attempt of a run: a scenario session of one turn, which is always evaluated, after a failure too (contract
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

interface Played {
  readonly stopReason: StopReason;
  readonly error: BoundaryError | null;
}

function startRun(options: RunOptions, span: TraceSpan): Run {
  const clock = startRunClock(options);
  const { request, recorder, worker, limits, environmentHash = null } = options;
  const { scenario_name: scenario, scenario_args: args, seed, sampling, model } = request;
  const session = new ScenarioSession({
    id: options.trace?.traceId ?? scenario,
    scenario,
    args,
    seed,
    connect: async (connectOptions) => {
      const onAdmitted = () => {
        clock.begin();
        connectOptions.onAdmitted?.();
      };
      return await options.connect({ ...connectOptions, onAdmitted });
    },
    createAgent: (context) => options.createAgent?.() ?? new AgentLoop(options.createModel(model, context)),
    sampling: seed === null ? sampling : { ...sampling, seed },
    recorder,
    worker,
    environmentHash,
    limits,
    isAttempt: true,
  });
  return { options, session, clock, span, usages: [] };
}

/** The one turn, and the repair of its answer. Failures are its result. */
async function play(run: Run): Promise<Played> {
  const { options, session, clock, span } = run;
  const maxSteps = options.request.max_steps;
  const turnOptions = { signal: clock.signal, onDelta: options.onDelta, onWait: clock.onWait, span };
  try {
    const turn = addUsage(run, await session.turn([], { ...turnOptions, maxSteps }));
    if (turn.status !== 'answered' || session.steps >= maxSteps) return toPlayed(turn);
    const repair = await session.repairAnswer(turnOptions);
    if (repair !== undefined) addUsage(run, repair);
    // A repair that brought nothing better leaves the run answered: what there is is submitted as text.
    return toPlayed(repair?.status === 'failed' || repair?.status === 'aborted' ? repair : turn);
  } catch (thrown) {
    // The session has ended by it already, and says how.
    return { stopReason: 'error', error: toBoundaryError(thrown, 'worker') };
  }
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
