// The authoring surface: what an environment is written with and served by, and what configures a project.
export type { Config } from './config/config-schema.ts';
export { defineConfig } from './config/define-config.ts';
export type { PromptMessage } from './contract/scenario.ts';
export type {
  CommandTarget,
  ConnectionOptions,
  ConnectionSource,
  ConnectionTarget,
  ServerTarget,
  UrlTarget,
} from './environment/connection.ts';
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
} from './environment/content.ts';
export { close, initialize, shutdown } from './environment/decorators/hooks.ts';
export { prompt } from './environment/decorators/prompt.ts';
export { resource } from './environment/decorators/resource.ts';
export { scenario } from './environment/decorators/scenario.ts';
export { tool } from './environment/decorators/tool.ts';
export type {
  Audience,
  ClientOffer,
  Completer,
  CompletionContext,
  ElicitAnswer,
  ElicitRequest,
  Hook,
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
} from './environment/definition.ts';
export type { EnvironmentServerOptions } from './environment/environment-options.ts';
export { EnvironmentServer } from './environment/environment-server.ts';
export type { EnvironmentSource } from './environment/environment-source.ts';
export type { EvaluationInput as Evaluation, SubscoreInput as Subscore } from './environment/evaluation.ts';
export { Hub, type HubOptions } from './environment/hub.ts';
export type { HubCall, HubHalves } from './environment/hub-scenario.ts';
export { NoJudgeError } from './environment/no-judge-error.ts';
export type { PromptConfig, PromptHandler, RichPrompt } from './environment/prompt.ts';
export type { Prompt } from './environment/prompt-messages.ts';
export type { ResourceConfig, ResourceHandler } from './environment/resource.ts';
export type {
  Scenario,
  ScenarioConfig,
  ScenarioFunction,
  ScenarioGenerator,
  ScenarioTask,
} from './environment/scenario.ts';
export type { AnySchema, ArgsOf, NoArgs } from './environment/schema-types.ts';
export type { ToolConfig, ToolHandler, ToolObject } from './environment/tool.ts';
export { ToolError } from './environment/tool-result.ts';
export type { SimulatedUser, UserFunction } from './environment/user.ts';
export { type InMemoryTarget, inMemory } from './mcp/in-memory.ts';
export { type ServeOptions, type ServerHandle, serve, serveMain } from './mcp/serve.ts';
export { defineTasks, type TasksInput } from './tasks/define-tasks.ts';
