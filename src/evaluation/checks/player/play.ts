import type { Json, JsonObject } from '../../../contract/json.ts';
import { MAX_STEPS } from '../../../contract/names.ts';
import type { SetupResult, VolatilePart } from '../../../contract/scenario.ts';
import type { Trace } from '../../../contract/service/trace.ts';
import type { ConnectOptions, EnvironmentClient } from '../../../environment/client/environment-client.ts';
import type { ChatModel, ReferenceContext } from '../../../models/gateway/chat-model.ts';
import { JUDGE_SCRIPT, USER_SCRIPT } from '../../../models/gateway/harness-models.ts';
import { createReferenceModel } from '../../../models/gateway/reference/reference-models.ts';
import { executeRun } from '../../../rollout/session/execute-run.ts';
import { toQueuedRun } from '../../../rollout/session/queued-run.ts';
import { RunInterrupted } from '../../../rollout/session/run.ts';
import { EventLog } from '../../../store/traces/event-log.ts';
import { EventRecorder } from '../../../store/traces/event-recorder.ts';
import { type ClientMiddleware, withMiddleware } from './client-middleware.ts';
import { allowsDefaultUser, CHECK_JUDGE, CHECK_USER, createDefaultRole } from './default-roles.ts';

/** Opens a new session. */
export type OpenSession = (options: ConnectOptions) => Promise<EnvironmentClient>;

export interface PlayOptions {
  readonly environment: string;
  readonly scenario: string;
  readonly args: JsonObject;
  /** Lines of the simulated user. They take precedence over the argument `user_script`. */
  readonly userScript?: readonly string[] | undefined;
  readonly seed: number;
  /** A reference model, or the name of the model that `createModel` makes. */
  readonly model: string;
  readonly createModel?: ((context: ReferenceContext) => ChatModel) | undefined;
  readonly open: OpenSession;
  readonly around?: ClientMiddleware | undefined;
  /** Verdict of the default judge, which answers if the task lists no verdicts. Default true. */
  readonly verdict?: boolean | undefined;
  readonly maxSteps?: number | undefined;
  /** Milliseconds for the start of the session, its setup, each call and its evaluation. */
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/** A session that was played to its end. */
export interface PlayedSession {
  readonly trace: Trace;
  /** Volatile parts of the scenario; empty if the setup failed. */
  readonly volatile: readonly VolatilePart[];
  readonly log: EventLog;
  /** True if no reference model played the session, so that `proctor run` cannot repeat it. */
  readonly isOwn: boolean;
  /** True if the session had no user, because the user has functions and only a model can play it. */
  readonly isUserAbsent: boolean;
  /** True if the default user of checks took part. */
  readonly hasDefaultUser: boolean;
  /** True if the default judge of checks gave a verdict. */
  readonly hasDefaultVerdict: boolean;
  /** True if the process died with other sessions in it, so that the cause is unknown. */
  readonly isLost: boolean;
}

/** Parts of a session that may each take the whole time limit. */
const LIMITS_OF_A_SESSION = 10;
/** Lines of the log that are kept, so that an environment's output cannot fill this process. */
const MAX_LOG_LINES = 200;

/** Plays one session with the same code as a run, and keeps its events in memory. @throws the signal's reason. */
export async function play(options: PlayOptions): Promise<PlayedSession> {
  const { model, createModel, open, around, verdict = true, limitMs, signal } = options;
  const log = new EventLog();
  const interrupt = new AbortController();
  const cancel = () => interrupt.abort(new RunInterrupted('cancelled'));
  signal.throwIfAborted();
  signal.addEventListener('abort', cancel, { once: true });
  let volatile: readonly VolatilePart[] = [];
  let isUserAbsent = false;
  let hasDefaultUser = false;
  try {
    const request = toRequest(options);
    await log.append(request);
    const outcome = await executeRun({
      request,
      worker: 'check',
      connect: async (connectOptions) => {
        const client = await open({ ...connectOptions, ...quiet(connectOptions), timeoutMs: limitMs });
        return withMiddleware(client, {
          around,
          toSetup: (setup) => {
            volatile = setup.volatile ?? [];
            const played = withDefaultUser(setup, scriptOf(options));
            isUserAbsent = setup.user !== undefined && played.user === undefined;
            hasDefaultUser = played.user?.model === CHECK_USER;
            return played;
          },
        });
      },
      createModel: (_name, context) => createModel?.(context) ?? createReferenceModel(model, context),
      createHarnessModel: (name) => createDefaultRole(name, verdict),
      recorder: new EventRecorder(log),
      signal: interrupt.signal,
      limits: { setupMs: limitMs, toolCallMs: limitMs, evaluateMs: limitMs, repairMs: limitMs, graceMs: limitMs },
    });
    signal.throwIfAborted();
    return {
      trace: log.toTrace(),
      volatile,
      log,
      isOwn: createModel !== undefined,
      isUserAbsent,
      hasDefaultUser,
      hasDefaultVerdict: log.events.some((event) => event.type === 'judge.responded' && event.model === CHECK_JUDGE),
      isLost: outcome.status === 'lost',
    };
  } finally {
    signal.removeEventListener('abort', cancel);
  }

  function toRequest(options: PlayOptions) {
    const { environment, scenario, args, seed, maxSteps = MAX_STEPS.default } = options;
    const script = scriptOf(options);
    const queued = toQueuedRun({
      origin: 'check',
      env_name: environment,
      scenario_name: scenario,
      scenario_args: args,
      model,
      max_steps: maxSteps,
      timeout_seconds: Math.ceil((limitMs * LIMITS_OF_A_SESSION) / 1_000),
      seed,
      user_model: script && USER_SCRIPT,
      user_script: script && [...script],
      judge_model: isScript(args.judge_script) ? JUDGE_SCRIPT : CHECK_JUDGE,
    });
    return { ...queued, type: 'run.queued', previous_end: null } as const;
  }
}

/**
 * Puts the default user in place of a model, because a check asks no gateway. If it cannot replace the model, there is
 * no user.
 */
function withDefaultUser({ user, ...setup }: SetupResult, script: readonly string[] | undefined): SetupResult {
  if (user === undefined || user.function || script !== undefined)
    return user === undefined ? setup : { ...setup, user };
  return allowsDefaultUser(user) ? { ...setup, user: { ...user, model: CHECK_USER } } : setup;
}

function scriptOf({ userScript, args }: Pick<PlayOptions, 'userScript' | 'args'>): readonly string[] | undefined {
  const { user_script: given } = args;
  return userScript ?? (isScript(given) ? given.filter((line) => typeof line === 'string') : undefined);
}

export function isScript(script: Json | undefined): script is Json[] {
  return Array.isArray(script);
}

/** Passes only the first lines of the log on. */
function quiet({ onLog }: ConnectOptions): Pick<ConnectOptions, 'onLog'> {
  let lines = 0;
  if (onLog === undefined) return {};
  return {
    onLog: (record) => {
      lines += 1;
      if (lines <= MAX_LOG_LINES) onLog(record);
    },
  };
}
