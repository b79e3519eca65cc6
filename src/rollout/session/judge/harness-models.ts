import { BoundaryError, USER_ERROR } from '../../../contract/errors.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { UserOfSetup } from '../../../contract/scenario.ts';
import type { EnvironmentClient, Sampler } from '../../../environment/client/environment-client.ts';
import type { ChatModel } from '../../../models/gateway/chat-model.ts';
import { JUDGE_SCRIPT, USER_SCRIPT } from '../../../models/gateway/harness-models.ts';
import { freeOfCost } from '../../../models/gateway/prices.ts';
import type { EventRecorder } from '../../../store/traces/event-recorder.ts';
import { once } from '../../../support/runtime/once.ts';
import { ROLLOUT_LIMITS } from '../limits.ts';
import type { RunOptions } from '../run.ts';
import type { RecordedWords } from '../user/recorded-user.ts';
import type { ConversationUser } from '../user/simulated-user.ts';

interface UserParts {
  readonly client: EnvironmentClient;
  readonly seed: number | null;
  /** Arguments of the scenario. */
  readonly args: JsonObject;
  readonly options: Pick<RunOptions, 'createModel' | 'createHarnessModel' | 'harnessModels' | 'request' | 'limits'>;
  /** Replies in an earlier run. The model is then made only when they are used up. */
  readonly recorded?: RecordedWords | undefined;
}

/**
 * Makes the user of a run: a function of the environment, a script, or a model. If no model is named, a script in the
 * task or the arguments plays the user, so that a task can be tried without a key.
 *
 * @throws BoundaryError boundary `worker`, code `user_error`, if no model is named; boundary `model` for a name that
 *   cannot be used.
 */
export async function createUser(setup: UserOfSetup, parts: UserParts): Promise<ConversationUser> {
  const { recorded } = parts;
  const live = await createLiveUser(setup, parts);
  if (recorded === undefined) return live;
  const { RecordedUser } = await import('../user/recorded-user.ts');
  return new RecordedUser(live, recorded);
}

async function createLiveUser(
  setup: UserOfSetup,
  { client, seed, args, options, recorded }: UserParts,
): Promise<ConversationUser> {
  const { FunctionUser, ModelUser, ScriptedUser } = await import('../user/simulated-user.ts');
  const { request, harnessModels = {} } = options;
  const name = request.user_model ?? setup.model ?? harnessModels.user;
  const script = request.user_script ?? args.user_script;
  if (name === USER_SCRIPT || (name === undefined && isScript(script)))
    return new ScriptedUser(readScript(script), setup.max_turns);
  const limitMs = options.limits?.toolCallMs ?? ROLLOUT_LIMITS.toolCallMs;
  if (setup.function) return new FunctionUser(client, setup, limitMs);
  const create = () => {
    if (name !== undefined) return createHarnessModel(options, name);
    const message =
      'The scenario talks with a simulated user, and no model plays it: set models.user in the configuration, or user_model in the request';
    throw new BoundaryError('worker', USER_ERROR, message);
  };
  const model = recorded === undefined ? create() : undefined;
  return new ModelUser(() => model ?? create(), { setup, client, limitMs, sampling: seed === null ? {} : { seed } });
}

interface JudgeParts extends Pick<RunOptions, 'createModel' | 'createHarnessModel' | 'harnessModels' | 'script'> {
  readonly request: Pick<RunOptions['request'], 'judge_model' | 'seed' | 'scenario_args'>;
}

/**
 * Answers an environment's questions to a model, for a run, a chat session or a seat. A `judge_script` argument is only
 * used by `proctor/judge-script`. That model reads nothing, so its verdicts must not pass for those of a real judge.
 */
export function createRunSampler(options: JudgeParts, recorder: EventRecorder, signal: AbortSignal): Sampler {
  const { request, harnessModels } = options;
  const { judge_model, seed, scenario_args } = request;
  // Most environments ask nothing.
  const sampler = once(async () => {
    const { createHarnessSampler } = await import('./harness-sampler.ts');
    const { ScriptedJudge } = await import('./scripted-judge.ts');
    const scripted = freeOfCost(new ScriptedJudge(scenario_args.judge_script));
    return createHarnessSampler({
      judgeModel: judge_model ?? harnessModels?.judge,
      isChosenByRun: typeof judge_model === 'string',
      seed,
      createModel: (name) => (name === JUDGE_SCRIPT ? scripted : createHarnessModel(options, name)),
      recorder,
      signal,
      recorded: options.script?.verdicts,
    });
  });
  return async (question) => (await sampler.get())(question);
}

function createHarnessModel(options: Pick<RunOptions, 'createModel' | 'createHarnessModel'>, name: string): ChatModel {
  return options.createHarnessModel?.(name) ?? options.createModel(name, NO_SOLUTION);
}

/** Users and judges do not get the scenario's solution. */
const NO_SOLUTION = {
  seed: null,
  scenario: '',
  answerSchema: () => null,
  solution: async () => {
    throw new BoundaryError('worker', USER_ERROR, 'The model of a user or judge cannot ask for the solution');
  },
};

function isScript(script: unknown): script is readonly string[] {
  return Array.isArray(script) && script.every((line) => typeof line === 'string');
}

function readScript(script: unknown): readonly string[] {
  if (isScript(script)) return script;
  const message = `${USER_SCRIPT} says what the user_script of the task, or the argument user_script of the scenario, lists: texts; it is ${JSON.stringify(script)}`;
  throw new BoundaryError('worker', USER_ERROR, message);
}
