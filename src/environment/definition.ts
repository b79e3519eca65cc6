import type { ContentBlock } from '../contract/chat.ts';
import type { JsonObject, JsonSchema } from '../contract/json.ts';
import type { SchemaIssue } from '../contract/json-schema.ts';
import type { Evaluation, PromptMessage } from '../contract/scenario.ts';

/**
 * What an environment is made of once its author has written it down: plain data and functions, without I/O and without
 * the MCP SDK. `mcp/` turns a definition into a server; nothing else reads it.
 */
export interface EnvironmentDefinition {
  readonly name: string;
  readonly version: string;
  readonly instructions: string | undefined;
  /** Every other constructor option, passed through to the MCP server underneath. */
  readonly serverOptions: Readonly<Record<string, unknown>>;
  readonly tools: ReadonlyMap<string, ToolDefinition>;
  readonly hubs: ReadonlyMap<string, HubDefinition>;
  readonly scenarios: ReadonlyMap<string, ScenarioDefinition>;
  readonly resources: ReadonlyMap<string, ResourceDefinition>;
  readonly prompts: ReadonlyMap<string, PromptDefinition>;
  readonly initializeHooks: readonly InitializeHook[];
  /** In the order of registration; they run in reverse. */
  readonly shutdownHooks: readonly Hook[];
  readonly closeHooks: readonly Hook[];
}

export type Awaitable<T> = T | Promise<T>;
export type Audience = 'agent' | 'harness';
export type Hook = () => Awaitable<void>;
export type InitializeHook = (context: InitializeContext) => Awaitable<void>;

export type ParseResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly SchemaIssue[] };

/** A schema of whichever kind, compiled: how it looks on the wire, and how a value is checked and read by it. */
export interface CompiledSchema {
  readonly jsonSchema: JsonSchema;
  /** Fills in defaults and refuses names that do not exist (unless the schema allows more), naming each bad field. */
  parse(value: unknown): Awaitable<ParseResult>;
}

/** MCP tool annotations. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

export interface ToolDefinition {
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly annotations: ToolAnnotations | undefined;
  readonly input: CompiledSchema;
  readonly output: CompiledSchema | undefined;
  /** `args` has been parsed by `input`. Whatever it returns goes through `toToolResult`. */
  handler(args: unknown, context: ToolContext): Awaitable<unknown>;
}

export interface HubDefinition {
  readonly name: string;
  readonly description: string | undefined;
  readonly audience: Audience;
  readonly tools: ReadonlyMap<string, ToolDefinition>;
}

export interface ScenarioDefinition {
  readonly name: string;
  readonly description: string | undefined;
  readonly args: CompiledSchema;
  /** Patterns (`*` matches any run of characters) of the tools that an agent may use here; undefined: all. */
  readonly tools: readonly string[] | undefined;
  readonly system: string | undefined;
  readonly answer: CompiledSchema | undefined;
  readonly chat: Readonly<Record<string, unknown>> | undefined;
  /** Starts the scenario: the normalised generator, whatever the author's style was. */
  start(args: unknown, context: ToolContext): ScenarioRun;
  readonly solution: ((args: unknown) => SolutionSource) | undefined;
}

/** A started scenario. Whoever started it closes it, also when one of its halves failed. */
export interface ScenarioRun {
  /** The first half. */
  prompt(): Promise<readonly PromptMessage[]>;
  /** The second half. @throws EvaluationMissingError when the author gave no evaluation. */
  evaluate(answer: unknown): Promise<Evaluation>;
  /**
   * Runs the author's `finally`, once; may be called at any time, more than once. A half that is still busy ends first:
   * abort the signal of the context to hasten it. One that never ends keeps this pending, so the caller bounds its wait
   * by a budget. Rejects with what `finally` throws.
   */
  close(): Promise<void>;
}

export interface SolutionCall {
  readonly name: string;
  readonly arguments: JsonObject;
}
export interface SolutionData {
  readonly calls: readonly SolutionCall[];
  readonly answer?: unknown;
}
/** A tool's result as a solution that is a generator receives it. */
export interface SolutionToolResult {
  readonly content: readonly ContentBlock[];
  readonly structured_content: unknown;
  readonly is_error: boolean;
}
export type SolutionGenerator = AsyncGenerator<SolutionCall, unknown, SolutionToolResult>;
export type SolutionSource = Awaitable<SolutionData> | SolutionGenerator;

export interface ResourceDefinition {
  readonly uri: string;
  /** True when the URI has `{variables}` (RFC 6570 level 1). */
  readonly isTemplate: boolean;
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly mimeType: string | undefined;
  readonly audience: Audience;
  /** Text, bytes (Uint8Array), or anything else, which becomes JSON. */
  read(variables: Readonly<Record<string, string>>, context: ToolContext): Awaitable<unknown>;
}

export interface PromptArgument {
  readonly name: string;
  readonly description: string | undefined;
  readonly required: boolean;
}
export interface PromptDefinition {
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly audience: Audience;
  readonly arguments: readonly PromptArgument[];
  /** Text or messages. */
  get(args: Readonly<Record<string, string>>, context: ToolContext): Awaitable<string | readonly PromptMessage[]>;
}

/** The MCP session an author's code runs in: one for each client. */
export interface Session {
  /** Its own for each session. Not the secret one that a client names the session by over HTTP: it may be shown. */
  readonly id: string;
  /** The protocol revision in use, such as `2025-11-25`. */
  readonly protocol: string;
  readonly client: { readonly name: string; readonly version: string } | undefined;
}

export type LogLevel = 'debug' | 'info' | 'warning' | 'error';
/** `ctx.log('text')` is info. */
export interface Log {
  (message: string): void;
  debug(message: string): void;
  info(message: string): void;
  warning(message: string): void;
  error(message: string): void;
}

/** Integer `progress` of `total` (100 by default); dropped where the client gave no token, and after the reply. */
export type ReportProgress = (progress: number, total?: number, message?: string) => void;

export interface ToolContext {
  readonly signal: AbortSignal;
  readonly progress: ReportProgress;
  readonly log: Log;
  readonly session: Session;
  /** `_meta` of the request, without the harness key. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** Asks the person behind the client. @throws Error where the client cannot. */
  elicit(request: { readonly message: string; readonly requestedSchema: JsonSchema }): Promise<{
    readonly action: 'accept' | 'decline' | 'cancel';
    readonly content?: JsonObject;
  }>;
  /** Asks the client's model. @throws Error where the client cannot. */
  sample(request: {
    readonly messages: readonly PromptMessage[];
    readonly maxTokens: number;
    readonly systemPrompt?: string;
  }): Promise<{
    readonly role: string;
    readonly content: ContentBlock;
    readonly model: string;
  }>;
}

export interface InitializeContext {
  readonly meta: {
    readonly progressToken?: string | number;
    /** Pixels; 1920 where the client says nothing. */
    readonly display_width: number;
    /** Pixels; 1080 where the client says nothing. */
    readonly display_height: number;
    readonly [key: string]: unknown;
  };
  readonly session: Session;
  readonly progress: ReportProgress;
  readonly signal: AbortSignal;
}
