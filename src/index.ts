// The authoring surface: what an environment is written with and served by, and what configures a project.

export type { PromptMessage } from './contract/scenario.ts';
export type {
  CommandTarget,
  ConnectionOptions,
  ConnectionSource,
  ConnectionTarget,
  ServerTarget,
  UrlTarget,
} from './environment/authoring/connection.ts';
export {
  type AudioContent,
  audio,
  type ContentAnnotations,
  type ContentOptions,
  type EmbeddedResource,
  embeddedResource,
  type ImageContent,
  image,
  type ResourceLink,
  resourceLink,
} from './environment/authoring/content.ts';
export { prompt, resource, scenario, tool } from './environment/authoring/decorators/entries.ts';
export { close, initialize, shutdown } from './environment/authoring/decorators/hooks.ts';
export type {
  Audience,
  ClientOffer,
  Completer,
  CompletionContext,
  ElicitAnswer,
  ElicitRequest,
  Hook,
  HubAudience,
  Icon,
  InitializeContext,
  InitializeHook,
  RichPromptMessage,
  Root,
  SampleAnswer,
  SampleRequest,
  Session,
  SolutionCall,
  SolutionData,
  SolutionGenerator,
  SolutionToolResult,
  ToolAnnotations,
  ToolContext,
} from './environment/authoring/definition.ts';
export type { EnvironmentServerOptions } from './environment/authoring/environment-options.ts';
export { EnvironmentServer } from './environment/authoring/environment-server.ts';
export type { EnvironmentSource } from './environment/authoring/environment-source.ts';
export type {
  EvaluationInput as Evaluation,
  SubscoreInput as Subscore,
} from './environment/authoring/evaluation.ts';
export { Hub, type HubOptions } from './environment/authoring/hub.ts';
export type { HubCall, HubHalves } from './environment/authoring/hub-scenario.ts';
export type { PromptConfig, PromptHandler, RichPrompt } from './environment/authoring/prompt.ts';
export type { Prompt } from './environment/authoring/prompt-messages.ts';
export type { ResourceConfig, ResourceHandler } from './environment/authoring/resource.ts';
export type { SandboxArgs, SandboxSource } from './environment/authoring/sandboxes.ts';
export type {
  Scenario,
  ScenarioConfig,
  ScenarioFunction,
  ScenarioGenerator,
  ScenarioTask,
} from './environment/authoring/scenario.ts';
export type { AnySchema, ArgsOf, NoArgs } from './environment/authoring/schema/schema-types.ts';
export type { ToolConfig, ToolHandler, ToolObject } from './environment/authoring/tool.ts';
export { NoJudgeError, ToolError } from './environment/authoring/tool-result.ts';
export type { ToolSet } from './environment/authoring/tool-set.ts';
export type { SimulatedUser, UserFunction } from './environment/authoring/user.ts';
export type {
  ExposedPort,
  FileChanges,
  FileEntry,
  FileType,
  ImageSource,
  ProcessExit,
  SandboxProcess,
  TerminalSize,
} from './environment/sandbox/engine.ts';
export type { ExecResult } from './environment/sandbox/exec.ts';
export type {
  CommandOptions,
  CopySource,
  ExecOptions,
  Sandbox,
  SandboxFiles,
  SandboxOptions,
  SpawnOptions,
} from './environment/sandbox/sandbox.ts';
export { type InMemoryTarget, inMemory } from './environment/server/in-memory.ts';
export { type ServeOptions, type ServerHandle, serve, serveMain } from './environment/server/serve.ts';
export { defineTasks, type TasksInput } from './evaluation/tasks/define-tasks.ts';
export type { Config } from './service/config/config-schema.ts';
export { defineConfig } from './service/config/define-config.ts';
