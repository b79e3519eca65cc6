import type { JsonObject } from '../../contract/json.ts';
import type { EventBody } from '../../contract/service/event.ts';
import { runRequestSchema } from '../../contract/service/run.ts';
import type { Trace } from '../../contract/service/trace.ts';
import type { ConnectOptions, EnvironmentClient } from '../../environment/client/environment-client.ts';
import type { ChatModel, ReferenceContext } from '../../models/gateway/chat-model.ts';
import { USER_SCRIPT } from '../../models/gateway/harness-models.ts';
import { checkReferenceModel, createReferenceModel } from '../../models/gateway/reference/reference-models.ts';
import { executeRun } from '../../rollout/session/execute-run.ts';
import type { RolloutLimits } from '../../rollout/session/limits.ts';
import { RunInterrupted } from '../../rollout/session/run.ts';
import { EventLog } from '../../store/traces/event-log.ts';
import { EventRecorder } from '../../store/traces/event-recorder.ts';

export interface TestRunOptions {
  /**
   * A `scriptedModel(...)`, or a reference model: `proctor/oracle` (the default) plays the scenario's solution,
   * `proctor/noop` answers an empty text or the smallest value of the `answer` schema, `proctor/random` calls tools at
   * random before that.
   */
  readonly model?: string | ChatModel;
  /** The simulated user: a `scriptedModel(...)`, or `proctor/user-script`, which sends the lines of `user_script` of the task or its arguments. */
  readonly user?: typeof USER_SCRIPT | ChatModel;
  /** Judges for the evaluation. */
  readonly judge?: ChatModel;
  /** 1 to 500, default 100. */
  readonly maxSteps?: number;
  /** Whole seconds, 1 to 86,400, default 3,600. */
  readonly timeoutSeconds?: number;
  /** Seed of `proctor/random`; forwarded to any other model. */
  readonly seed?: number;
  /** Limits of setup, a tool call and evaluation, in milliseconds. */
  readonly limits?: Partial<RolloutLimits>;
  /** Cancels the run, whose trace is `cancelled` then. */
  readonly signal?: AbortSignal;
}

export interface PlayedRun {
  readonly name: string;
  readonly scenario: string;
  readonly args: JsonObject;
  readonly userScript?: readonly string[] | undefined;
  readonly onLog: NonNullable<ConnectOptions['onLog']>;
  /** A fresh environment; the run closes it. */
  connect(options: ConnectOptions): Promise<EnvironmentClient>;
}

/**
 * One run on the engine of every run, with its events kept in memory: the trace that comes out is what a store would give.
 *
 * @throws TypeError for options that are out of range; ApiError model_not_found.
 */
export async function playRun(run: PlayedRun, options: TestRunOptions = {}): Promise<Trace> {
  const { model = 'proctor/oracle', user, judge, limits, signal } = options;
  if (typeof model === 'string') checkReferenceModel(model);
  const request = toRequest(run, typeof model === 'string' ? model : model.name, options);
  const harness = new Map<string, ChatModel>();
  if (typeof user === 'object') harness.set(HARNESS.user, user);
  if (judge !== undefined) harness.set(HARNESS.judge, judge);
  const log = new EventLog();
  await log.append(request);
  const interrupt = new AbortController();
  const cancel = () => interrupt.abort(new RunInterrupted('cancelled'));
  signal?.addEventListener('abort', cancel, { once: true });
  if (signal?.aborted) cancel();
  try {
    await executeRun({
      request,
      worker: 'test',
      connect: (given) => run.connect({ ...given, onLog: both(given.onLog, run.onLog) }),
      createModel: (name, context) => harness.get(name) ?? toModel(model, name, context),
      harnessModels: { user: user && HARNESS.user, judge: judge && HARNESS.judge },
      recorder: new EventRecorder(log),
      signal: interrupt.signal,
      ...(limits && { limits }),
    });
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
  return log.toTrace();
}

/** Names that no model of a run has. */
const HARNESS = { user: 'test/user', judge: 'test/judge' } as const;

function toModel(model: string | ChatModel, name: string, context: ReferenceContext): ChatModel {
  return typeof model === 'string' ? createReferenceModel(name, context) : model;
}

function toRequest(run: PlayedRun, model: string, options: TestRunOptions): Extract<EventBody, { type: 'run.queued' }> {
  const parsed = runRequestSchema.safeParse({
    env_name: run.name,
    scenario_name: run.scenario.slice(run.scenario.indexOf(':') + 1),
    scenario_args: run.args,
    model,
    max_steps: options.maxSteps,
    timeout_seconds: options.timeoutSeconds,
    seed: options.seed,
    user_model: options.user === USER_SCRIPT ? USER_SCRIPT : null,
  });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new TypeError(`run: ${OPTION_NAMES[String(issue?.path[0])] ?? issue?.path.join('.')}: ${issue?.message}`);
  }
  const script = run.userScript === undefined ? {} : { user_script: [...run.userScript] };
  return { type: 'run.queued', origin: 'run', previous_end: null, ...parsed.data, ...script };
}

const OPTION_NAMES: Readonly<Record<string, string>> = { max_steps: 'maxSteps', timeout_seconds: 'timeoutSeconds' };

function both(first: ConnectOptions['onLog'], second: NonNullable<ConnectOptions['onLog']>): typeof second {
  return (record) => {
    first?.(record);
    second(record);
  };
}
