import type { ConnectOptions, EnvironmentClient } from '../client/environment-client.ts';
import type { Usage } from '../contract/chat.ts';
import { type Boundary, BoundaryError, messageOf } from '../contract/errors.ts';
import type { StopReason } from '../contract/trace.ts';
import type { ChatModel } from '../model/chat-model.ts';
import { type Deadline, startDeadline } from '../runtime/deadline.ts';
import { setUsage } from '../telemetry/spans.ts';
import type { TraceSpan } from '../telemetry/trace-span.ts';
import type { EventRecorder } from '../trace/event-recorder.ts';
import { ROLLOUT_LIMITS, type RolloutLimits, RunTimeoutError } from './limits.ts';
import { openEnvironment } from './open-environment.ts';
import { toReferenceContext } from './reference-context.ts';
import { RunInterrupted, type RunOptions, type RunOutcome } from './run.ts';
import { withRunSpan } from './run-span.ts';
import { ScenarioSession, type TurnResult } from './scenario-session.ts';
import { toVersions } from './versions.ts';

/**
 * Executes one attempt of a run: connects a fresh environment, sets the scenario up, plays one turn, submits and
 * evaluates the answer, and records all of it (contract section 3, "A run"). A run that fails is an outcome.
 * Everything that was opened is closed when it returns, in every ending.
 *
 * @throws AttemptSupersededError, or whatever else the recorder failed with: what cannot be recorded is stopped.
 */
export async function executeRun(options: RunOptions): Promise<RunOutcome> {
  return await withRunSpan(options, (span) => execute(options, span));
}

async function execute(options: RunOptions, span: TraceSpan): Promise<RunOutcome> {
  const run = startRun(options, span);
  try {
    const played = await play(run);
    const outcome = await grade(run, played);
    return await end(run, outcome);
  } catch (thrown) {
    run.recorder.failed.throwIfAborted();
    return await (options.signal.aborted ? endInterrupted(run) : endBroken(run, thrown));
  } finally {
    run.deadline.clear();
    await (run.session ?? run.client)?.close();
  }
}

interface Run {
  readonly options: RunOptions;
  readonly limits: RolloutLimits;
  readonly recorder: EventRecorder;
  readonly deadline: Deadline;
  /** Aborted when nothing may go on: the run was interrupted, or cannot be recorded. */
  readonly stop: AbortSignal;
  /** `stop`, or the run's time is over. Setup and turns heed it; the evaluation has its grace. */
  readonly stopOrTimeout: AbortSignal;
  readonly span: TraceSpan;
  /** Usage of each model response. */
  readonly usages: Usage[];
  client?: EnvironmentClient;
  session?: ScenarioSession;
}

interface Played {
  readonly stopReason: StopReason;
  readonly error: BoundaryError | null;
}

type EndedOutcome = Exclude<RunOutcome, { status: 'released' }>;

function startRun(options: RunOptions, span: TraceSpan): Run {
  const { recorder } = options;
  const deadline = startDeadline(options.request.timeout_seconds * 1_000, (limit) => new RunTimeoutError(limit));
  const stop = AbortSignal.any([options.signal, recorder.failed]);
  const stopOrTimeout = AbortSignal.any([stop, deadline.signal]);
  const limits = { ...ROLLOUT_LIMITS, ...options.limits };
  const versions = toVersions(undefined, options.environmentHash ?? null);
  recorder.record({ type: 'run.started', worker: options.worker, versions });
  return { options, limits, recorder, deadline, stop, stopOrTimeout, span, usages: [] };
}

/** From nothing to the end of the turn. Failures are its result; it throws where nothing may go on. */
async function play(run: Run): Promise<Played> {
  let boundary: Boundary = 'model';
  try {
    const model = createModel(run);
    boundary = 'environment';
    const client = await connect(run);
    boundary = 'setup';
    const session = await openSession(run, client, model);
    boundary = 'worker';
    return await playTurn(run, session);
  } catch (thrown) {
    run.stop.throwIfAborted();
    return { stopReason: 'error', error: toRunError(thrown, boundary) };
  }
}

function createModel(run: Run): ChatModel {
  const { scenario_name, scenario_args, seed, model } = run.options.request;
  const context = toReferenceContext({
    scenario: scenario_name,
    args: scenario_args,
    seed,
    client: () => run.client,
    answerSchema: () => run.session?.setup.answer_schema,
  });
  return run.options.createModel(model, context);
}

async function connect(run: Run): Promise<EnvironmentClient> {
  const { options, recorder, stopOrTimeout: signal } = run;
  const environmentHash = options.environmentHash ?? null;
  const connect = (connectOptions: ConnectOptions) => options.connect(connectOptions);
  const client = await openEnvironment({ connect, recorder, signal, environmentHash, span: run.span });
  run.client = client;
  return client;
}

async function openSession(run: Run, client: EnvironmentClient, model: ChatModel): Promise<ScenarioSession> {
  const { scenario_name, scenario_args, sampling, seed } = run.options.request;
  run.session = await ScenarioSession.open({
    client,
    scenario: scenario_name,
    args: scenario_args,
    model,
    sampling: seed === null ? sampling : { ...sampling, seed },
    recorder: run.recorder,
    signal: run.stopOrTimeout,
    limits: run.limits,
    span: run.span,
  });
  return run.session;
}

async function playTurn(run: Run, session: ScenarioSession): Promise<Played> {
  const maxSteps = run.options.request.max_steps;
  const options = { signal: run.stopOrTimeout, onDelta: run.options.onDelta, span: run.span };
  const turn = addUsage(run, await session.turn([], { ...options, maxSteps }));
  if (turn.status !== 'answered' || session.steps >= maxSteps) return toPlayed(run, turn);
  const repair = await session.repairAnswer(options);
  if (repair !== undefined) addUsage(run, repair);
  // A repair that brought nothing better leaves the run answered: what there is is submitted as text.
  return repair?.status === 'failed' || repair?.status === 'aborted' ? toPlayed(run, repair) : toPlayed(run, turn);
}

function addUsage(run: Run, turn: TurnResult): TurnResult {
  run.usages.push(...turn.responses.map(({ usage }) => usage));
  setUsage(run.span, run.usages);
  return turn;
}

function toPlayed(run: Run, turn: TurnResult): Played {
  if (turn.status === 'failed') return { stopReason: 'error', error: turn.error };
  if (turn.status !== 'aborted') return { stopReason: turn.status, error: null };
  run.stop.throwIfAborted();
  return { stopReason: 'timeout', error: null };
}

/** Submits and evaluates what there is, also after a failure; the reward is kept apart then, in the evaluation. */
async function grade(run: Run, { stopReason, error }: Played): Promise<EndedOutcome> {
  if (run.session === undefined) return toOutcome(run, { status: 'failed', stopReason, error });
  const limitMs = Math.min(run.limits.evaluateMs, run.deadline.remainingMs() + run.limits.graceMs);
  try {
    const { evaluation } = await run.session.finish({ signal: run.stop, limitMs, span: run.span });
    if (error !== null) return toOutcome(run, { status: 'failed', stopReason, error });
    return toOutcome(run, { status: 'completed', stopReason, reward: evaluation.reward });
  } catch (thrown) {
    run.stop.throwIfAborted();
    const evaluateError = toRunError(thrown, 'evaluate');
    if (error === null) return toOutcome(run, { status: 'failed', stopReason: 'error', error: evaluateError });
    const message = `The evaluation after the failure failed too: ${evaluateError.message}`;
    run.recorder.record({ type: 'log', level: 'warning', logger: 'proctor', message });
    return toOutcome(run, { status: 'failed', stopReason, error });
  }
}

async function end({ recorder }: Run, outcome: EndedOutcome): Promise<RunOutcome> {
  const { status, stopReason, reward, error } = outcome;
  recorder.record({ type: 'run.finished', status, stop_reason: stopReason, reward, error });
  await recorder.end();
  return outcome;
}

/** Released: the next attempt writes on from here, so all of this one's events have to be written before. */
async function endInterrupted(run: Run): Promise<RunOutcome> {
  const { reason } = run.options.signal;
  if (!(reason instanceof RunInterrupted && reason.kind === 'released')) {
    return await end(run, toOutcome(run, { status: 'cancelled', stopReason: 'cancelled' }));
  }
  await run.recorder.end();
  return { status: 'released' };
}

/** A fault of our own must not leave a run that never ends. */
async function endBroken(run: Run, thrown: unknown): Promise<RunOutcome> {
  return await end(run, toOutcome(run, { status: 'failed', stopReason: 'error', error: toRunError(thrown, 'worker') }));
}

interface Ending {
  readonly status: EndedOutcome['status'];
  readonly stopReason: StopReason;
  readonly reward?: number;
  readonly error?: BoundaryError | null;
}

function toOutcome(run: Run, { status, stopReason, reward, error }: Ending): EndedOutcome {
  const answer = run.session?.submitted ?? null;
  return { status, stopReason, answer, reward: reward ?? null, error: error?.toBody() ?? null };
}

function toRunError(thrown: unknown, boundary: Boundary): BoundaryError {
  if (thrown instanceof BoundaryError) return thrown;
  const cause = { cause: thrown };
  if (thrown instanceof RunTimeoutError) {
    const missing = boundary === 'setup' ? 'the scenario was set up' : 'the environment was ready';
    return new BoundaryError(boundary, 'environment_failed', `${thrown.message}, before ${missing}`, cause);
  }
  if (boundary === 'worker') return new BoundaryError(boundary, 'internal_error', messageOf(thrown), cause);
  const code = boundary === 'model' ? 'model_failed' : 'environment_failed';
  return new BoundaryError(boundary, code, messageOf(thrown), cause);
}
