import type { EnvironmentClient, Sampler } from '../client/environment-client.ts';
import { BoundaryError, USER_ERROR } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { UserOfSetup } from '../contract/scenario.ts';
import type { ChatModel } from '../model/chat-model.ts';
import { JUDGE_SCRIPT, USER_SCRIPT } from '../model/harness-models.ts';
import { freeOfCost } from '../model/prices.ts';
import type { EventRecorder } from '../trace/event-recorder.ts';
import { createHarnessSampler } from './harness-sampler.ts';
import { ROLLOUT_LIMITS } from './limits.ts';
import { RecordedUser, type RecordedWords } from './recorded-user.ts';
import type { RunOptions } from './run.ts';
import { ScriptedJudge } from './scripted-judge.ts';
import { type ConversationUser, FunctionUser, ModelUser, ScriptedUser } from './simulated-user.ts';

interface UserParts {
  readonly client: EnvironmentClient;
  readonly seed: number | null;
  /** Arguments of the scenario. */
  readonly args: JsonObject;
  readonly options: Pick<RunOptions, 'createModel' | 'createHarnessModel' | 'harnessModels' | 'request' | 'limits'>;
  /** Its replies in an earlier run. With them its model is made when it has to go on. */
  readonly recorded?: RecordedWords | undefined;
}

/**
 * The user of a run: a function of the environment, the script of the reference user, or a model. A task or arguments that hold a
 * script are played by it where no model is named, so that a task can be tried without a key.
 *
 * @throws BoundaryError boundary `worker`, code `user_error`, where no model is named; boundary `model` for one that cannot
 *   be used.
 */
export function createUser(setup: UserOfSetup, parts: UserParts): ConversationUser {
  const { recorded } = parts;
  return recorded === undefined
    ? createLiveUser(setup, parts)
    : new RecordedUser(createLiveUser(setup, parts), recorded);
}

function createLiveUser(setup: UserOfSetup, { client, seed, args, options, recorded }: UserParts): ConversationUser {
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
 * Answers the questions of an environment to a model, for whatever plays its scenario: a run, a chat session, a seat.
 * A `judge_script` of the arguments is for `proctor/judge-script` alone: it reads nothing, and where nobody asked for it
 * its verdicts would pass for those of a judge.
 */
export function createRunSampler(options: JudgeParts, recorder: EventRecorder, signal: AbortSignal): Sampler {
  const { request, harnessModels } = options;
  const { judge_model, seed, scenario_args } = request;
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
}

function createHarnessModel(options: Pick<RunOptions, 'createModel' | 'createHarnessModel'>, name: string): ChatModel {
  return options.createHarnessModel?.(name) ?? options.createModel(name, NO_SOLUTION);
}

/** Neither a user nor a judge gets what the harness knows. */
const NO_SOLUTION = {
  seed: null,
  scenario: '',
  answerSchema: () => null,
  solution: async () => {
    throw new BoundaryError('worker', USER_ERROR, 'A model that the harness asks has no solution');
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
