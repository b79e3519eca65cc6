export { BoundaryError } from './contract/errors.ts';
export type { JsonObject } from './contract/json.ts';
export type { Evaluation, ScenarioEntry, SetupResult, Solution } from './contract/scenario.ts';
export type { CheckedEnvironment, CheckFinding, FindingName } from './contract/service/check.ts';
export type { LogRecord, Step, Trace } from './contract/service/trace.ts';
export type { EnvironmentSource } from './environment/authoring/environment-source.ts';
export type { CallOptions, ToolResult } from './environment/client/environment-client.ts';
export { type ExpectSoundOptions, expectSound } from './evaluation/testing/expect-sound.ts';
export { type Clock, type FakeClock, fakeClock } from './evaluation/testing/fake-clock.ts';
export {
  type OpenEnvironment,
  type OpenEnvironmentOptions,
  openEnvironment,
  type StartedScenario,
} from './evaluation/testing/open-environment.ts';
export type { TestRunOptions } from './evaluation/testing/play-run.ts';
export type {
  CallResult,
  GivenMessage,
  ListedPrompt,
  ListedResource,
  ListedTool,
  ReadContent,
  RoleClient,
} from './evaluation/testing/role-client.ts';
export {
  type Script,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedResponse,
  scriptedModel,
} from './evaluation/testing/scripted-model.ts';
export type { DeclaredTask, Task, TaskArguments } from './evaluation/testing/task.ts';
export type { ChatModel, ModelRequest, ModelResponse } from './models/gateway/chat-model.ts';
export type { RolloutLimits } from './rollout/session/limits.ts';
