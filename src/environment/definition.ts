import type { ContentBlock } from '../contract/chat.ts';
import type { Json, JsonObject, JsonSchema } from '../contract/json.ts';
import type { Evaluation, PromptMessage, VolatilePart } from '../contract/scenario.ts';
import type { SchemaIssue } from '../schema/json-schema.ts';
import type { InitializeContext, Log, Session, ToolContext, UserMessage } from './author-context.ts';
import type { Changes } from './changes.ts';
import type { ConnectionDefinition } from './connection.ts';
import type { AudioContent, EmbeddedResource, ImageContent, ResourceLink } from './content.ts';
import type { AnyValue } from './schema-types.ts';

export type * from './author-context.ts';

/**
 * The definition of an environment as its author declared it: plain data and functions, without I/O and without the MCP
 * SDK. `mcp/` turns a definition into a server; nothing else reads it.
 */
export interface EnvironmentDefinition {
  readonly name: string;
  readonly version: string;
  readonly instructions: string | undefined;
  /** Sessions that may share one process. */
  readonly sessionsPerProcess: number;
  /** Its tools reach the machine itself. */
  readonly unsandboxed: boolean;
  /** Every other constructor option, passed through to the MCP server underneath. */
  readonly serverOptions: Readonly<Record<string, unknown>>;
  readonly tools: ReadonlyMap<string, ToolDefinition>;
  readonly hubs: ReadonlyMap<string, HubDefinition>;
  readonly scenarios: ReadonlyMap<string, ScenarioDefinition>;
  readonly resources: ReadonlyMap<string, ResourceDefinition>;
  readonly prompts: ReadonlyMap<string, PromptDefinition>;
  /** The MCP servers of others that are part of it, by the names that its author gave them. */
  readonly connections: ReadonlyMap<string, ConnectionDefinition>;
  readonly initializeHooks: readonly InitializeHook[];
  /** In the order of registration; they run in reverse. */
  readonly shutdownHooks: readonly Hook[];
  readonly closeHooks: readonly Hook[];
  /** Declarations that the author adds, removes or changes while sessions are open. */
  readonly changes: Changes<DefinitionChange>;
  /** Told each time that a client has been given the list of tools. */
  readonly onToolsListed?: (() => void) | undefined;
}

/** Tools, resources, prompts or scenarios were declared or taken back, or a resource has another content. */
export type DefinitionChange = { readonly kind: 'declared' } | { readonly kind: 'resource'; readonly uri: string };

export type Awaitable<T> = T | Promise<T>;
export type Audience = 'agent' | 'harness';
/** `user`: the harness calls its functions for a simulated user. Agents cannot see them. */
export type HubAudience = Audience | 'user';
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

/** An image that a client may show for a tool. */
export interface Icon {
  readonly src: string;
  readonly mimeType?: string;
  /** Such as `48x48`, or `any`. */
  readonly sizes?: readonly string[];
  readonly theme?: 'light' | 'dark';
}

export interface ToolDefinition {
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly annotations: ToolAnnotations | undefined;
  readonly icons?: readonly Icon[] | undefined;
  /** `_meta` of its entry in the list of tools. */
  readonly meta?: JsonObject | undefined;
  readonly input: CompiledSchema;
  readonly output: CompiledSchema | undefined;
  /** `args` has been parsed by `input`. Whatever it returns goes through `toToolResult`. */
  handler(args: unknown, context: ToolContext): Awaitable<unknown>;
}

export interface HubDefinition {
  readonly name: string;
  readonly description: string | undefined;
  readonly audience: HubAudience;
  readonly tools: ReadonlyMap<string, ToolDefinition>;
}

export interface ScenarioDefinition {
  readonly name: string;
  readonly description: string | undefined;
  readonly args: CompiledSchema;
  /** Patterns (`*` matches any run of characters) of the tools that an agent may use here; undefined: all. */
  readonly tools: readonly string[] | undefined;
  /** Kinds of tools that a provider runs beside the model, and that an agent of others may use; undefined: none. */
  readonly providerTools?: readonly string[] | undefined;
  readonly system: string | undefined;
  readonly answer: CompiledSchema | undefined;
  readonly chat: Readonly<Record<string, unknown>> | undefined;
  /** Starts the scenario: the normalised generator, whatever the author's style was. */
  start(args: unknown, context: ToolContext): ScenarioRun;
  readonly solution: ((args: unknown) => SolutionSource) | undefined;
  /** Parts that differ from one session to the next although nothing is wrong. */
  readonly volatile?: readonly VolatilePart[] | undefined;
  /** The user that the agent talks with; undefined: there is none, and its first text is its answer. */
  readonly user?: UserDefinition | undefined;
  /** True: a run without a model for judges is refused before it exists. */
  readonly needsJudge?: boolean | undefined;
  /** Tasks that its author declares: as they are, unchecked. */
  readonly tasks?: DeclaredTaskSource | undefined;
}

/** A simulated user: a model with instructions, or a function of the author. */
export interface UserDefinition {
  /** Undefined for a function. */
  readonly instructions: ((args: unknown) => string) | undefined;
  readonly model: string | undefined;
  /** Functions of hubs of the audience `user`. */
  readonly tools: readonly string[];
  /** Replies that it gives at most. */
  readonly maxTurns: number;
  /** The next message of the user; null ends the conversation. Undefined for a model. */
  readonly next: ((conversation: readonly UserMessage[], context: ToolContext) => Awaitable<string | null>) | undefined;
}

/** A list, or a function that gives one. */
export type DeclaredTaskSource<Declared = unknown> = readonly Declared[] | (() => Awaitable<readonly Declared[]>);

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
  /** JSON. Undefined is left out: in a list of calls TypeScript gives each the arguments of the others, as undefined. */
  readonly arguments: { readonly [name: string]: Json | undefined };
}
/** `Answer` is what the scenario's `answer` schema takes; where that may be nothing, it may be left out. */
export type SolutionData<Answer = AnyValue> = { readonly calls: readonly SolutionCall[] } & (undefined extends Answer
  ? { readonly answer?: Answer }
  : { readonly answer: Answer });
/** A tool's result as a solution that is a generator receives it. */
export interface SolutionToolResult {
  readonly content: readonly ContentBlock[];
  /** The text of its text blocks, one below the other. */
  readonly text: string;
  /** The object that the tool returned, `{ result: [...] }` for a list; null for anything else. */
  readonly structured_content: JsonObject | null;
  /** False: a call that fails ends the run of `proctor/oracle`. */
  readonly is_error: boolean;
}
/** Yields calls, and returns the answer. */
export type SolutionGenerator<Answer = AnyValue> = AsyncGenerator<SolutionCall, Answer, SolutionToolResult>;
export type SolutionSource<Answer = AnyValue> = Awaitable<SolutionData<Answer>> | SolutionGenerator<Answer>;

export interface ResourceDefinition {
  readonly uri: string;
  /** True when the URI has `{variables}` (RFC 6570 level 1). */
  readonly isTemplate: boolean;
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly mimeType: string | undefined;
  readonly audience: Audience;
  /** By variable of the template. */
  readonly completers?: ReadonlyMap<string, Completer>;
  /** Text, bytes (Uint8Array), or anything else, which becomes JSON. */
  read(variables: Readonly<Record<string, string>>, context: ToolContext): Awaitable<unknown>;
}

export type PromptBlock = ContentBlock | ImageContent | AudioContent | EmbeddedResource | ResourceLink;

/** A message of an MCP prompt, which may hold every kind of content block that a tool's result may. */
export interface RichPromptMessage {
  readonly role: PromptMessage['role'];
  readonly content: string | PromptBlock | readonly PromptBlock[];
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
  /** By argument. */
  readonly completers: ReadonlyMap<string, Completer>;
  /** Text or messages. */
  get(args: Readonly<Record<string, string>>, context: ToolContext): Awaitable<string | readonly RichPromptMessage[]>;
}

/** The context of a completer beside the typed text. */
export interface CompletionContext {
  /** The arguments, or variables, that have a value already. */
  readonly arguments: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly session: Session;
}

/**
 * Suggests values of one argument: a list, of which those are offered that begin with what has been typed, or a function
 * of what has been typed that gives those to offer, the best first.
 */
export type Completer =
  | readonly string[]
  | ((value: string, context: CompletionContext) => Awaitable<readonly string[]>);
