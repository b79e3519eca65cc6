export type { CallOptions, ToolResult } from './client/environment-client.ts';
export type { CheckedEnvironment, CheckFinding, FindingName } from './contract/check.ts';
export { BoundaryError } from './contract/errors.ts';
export type { Evaluation, ScenarioEntry, SetupResult, Solution } from './contract/scenario.ts';
export type { LogRecord, Step, Trace } from './contract/trace.ts';
export type { ChatModel, ModelRequest, ModelResponse } from './model/chat-model.ts';
export { type ExpectSoundOptions, expectSound } from './testing/expect-sound.ts';
export { type Clock, type FakeClock, fakeClock } from './testing/fake-clock.ts';
export {
  type OpenEnvironment,
  type OpenEnvironmentOptions,
  openEnvironment,
  type StartedScenario,
} from './testing/open-environment.ts';
export type { TestRunOptions } from './testing/play-run.ts';
export type {
  CallResult,
  GivenMessage,
  ListedPrompt,
  ListedResource,
  ListedTool,
  ReadContent,
  RoleClient,
} from './testing/role-client.ts';
export {
  type Script,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedResponse,
  scriptedModel,
} from './testing/scripted-model.ts';
export type { DeclaredTask, Task, TaskArguments } from './testing/task.ts';
