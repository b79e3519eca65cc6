import type { ConnectOptions, EnvironmentClient } from '../../client/environment-client.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import { MAX_STEPS } from '../../contract/names.ts';
import type { SetupResult, VolatilePart } from '../../contract/scenario.ts';
import type { Trace } from '../../contract/trace.ts';
import type { ChatModel, ReferenceContext } from '../../model/chat-model.ts';
import { JUDGE_SCRIPT, USER_SCRIPT } from '../../model/harness-models.ts';
import { createReferenceModel } from '../../model/reference-models.ts';
import { executeRun } from '../../rollout/execute-run.ts';
import { RunInterrupted } from '../../rollout/run.ts';
import { EventLog } from '../../trace/event-log.ts';
import { EventRecorder } from '../../trace/event-recorder.ts';
import { type Around, aroundClient } from './around-client.ts';

/** Gives a session of its own. */
export type OpenSession = (options: ConnectOptions) => Promise<EnvironmentClient>;

export interface PlayOptions {
  readonly environment: string;
  readonly scenario: string;
  readonly args: JsonObject;
  /** Lines of its simulated user, before the argument `user_script`. */
  readonly userScript?: readonly string[] | undefined;
  readonly seed: number;
  /** A reference model, or the name of one that `createModel` makes. */
  readonly model: string;
  readonly createModel?: ((context: ReferenceContext) => ChatModel) | undefined;
  readonly open: OpenSession;
  readonly around?: Around | undefined;
  readonly maxSteps?: number | undefined;
  /** Milliseconds for the start of the session, its setup, each call and its evaluation. */
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/** A session that was played to its end. */
export interface Played {
  readonly trace: Trace;
  /** Those of its scenario; empty where it was not set up. */
  readonly volatile: readonly VolatilePart[];
  readonly log: EventLog;
  /** No reference model played it, so that no run of one shows it. */
  readonly isOwn: boolean;
  /** It has a simulated user that only a model could have played: nobody did. */
  readonly isUserAbsent: boolean;
  /** Its process died with other sessions in it, and nobody knows of which. */
  readonly isLost: boolean;
}

/** Parts of a session that may each take the whole limit. */
const LIMITS_OF_A_SESSION = 10;
/** Lines of its log that are kept: what an environment prints must not fill this process. */
const MAX_LOG_LINES = 200;

/** Plays one session on the engine of every run, its events kept in memory. @throws the reason of the signal. */
export async function play(options: PlayOptions): Promise<Played> {
  const { model, createModel, open, around, limitMs, signal } = options;
  const log = new EventLog();
  const interrupt = new AbortController();
  const cancel = () => interrupt.abort(new RunInterrupted('cancelled'));
  signal.throwIfAborted();
  signal.addEventListener('abort', cancel, { once: true });
  let volatile: readonly VolatilePart[] = [];
  let isUserAbsent = false;
  try {
    const request = toRequest(options);
    await log.append(request);
    const outcome = await executeRun({
      request,
      worker: 'check',
      connect: async (connectOptions) => {
        const client = await open({ ...connectOptions, ...quiet(connectOptions), timeoutMs: limitMs });
        return aroundClient(client, {
          around,
          toSetup: (setup) => {
            volatile = setup.volatile ?? [];
            const played = withoutAbsentUser(setup, scriptOf(options));
            isUserAbsent = setup.user !== undefined && played.user === undefined;
            return played;
          },
        });
      },
      createModel: (_name, context) => createModel?.(context) ?? createReferenceModel(model, context),
      createHarnessModel: (name) => {
        throw new Error(`A check asks no model of a gateway: neither ${JSON.stringify(name)} nor that of models.judge`);
      },
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
      isLost: outcome.status === 'lost',
    };
  } finally {
    signal.removeEventListener('abort', cancel);
  }

  function toRequest(options: PlayOptions) {
    const { environment, scenario, args, seed, maxSteps = MAX_STEPS.default } = options;
    const script = scriptOf(options);
    return {
      type: 'run.queued',
      origin: 'check',
      previous_end: null,
      env_name: environment,
      scenario_name: scenario,
      scenario_args: args,
      model,
      max_steps: maxSteps,
      timeout_seconds: Math.ceil((limitMs * LIMITS_OF_A_SESSION) / 1_000),
      seed,
      metadata: {},
      priority: 0,
      sampling: {},
      ...(script && { user_model: USER_SCRIPT, user_script: [...script] }),
      ...(isScript(args.judge_script) && { judge_model: JUDGE_SCRIPT }),
    } as const;
  }
}

/** A check asks no model of a gateway: a user that neither a script nor code plays is left out. */
function withoutAbsentUser({ user, ...setup }: SetupResult, script: readonly string[] | undefined): SetupResult {
  return user === undefined || !(user.function || script !== undefined) ? setup : { ...setup, user };
}

function scriptOf({ userScript, args }: Pick<PlayOptions, 'userScript' | 'args'>): readonly string[] | undefined {
  const { user_script: given } = args;
  return userScript ?? (isScript(given) ? given.filter((line) => typeof line === 'string') : undefined);
}

export function isScript(script: Json | undefined): script is Json[] {
  return Array.isArray(script);
}

/** The first lines of the log alone. */
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
