import type { ContentBlock } from '../../contract/chat.ts';
import type { Json, JsonObject, JsonSchema } from '../../contract/json.ts';
import type { Evaluation, PromptMessage, VolatilePart } from '../../contract/scenario.ts';
import type { SchemaIssue } from '../../support/schema/json-schema.ts';
import type { InitializeContext, Log, Session, ToolContext, UserMessage } from './author-context.ts';
import type { Changes } from './changes.ts';
import type { ConnectionDefinition } from './connection.ts';
import type { AudioContent, EmbeddedResource, ImageContent, ResourceLink } from './content.ts';
import type { SandboxDeclaration } from './sandboxes.ts';
import type { AnyValue } from './schema/schema-types.ts';

export type * from './author-context.ts';

/**
 * The definition of an environment as its author declared it: plain data and functions, without I/O and without the MCP
 * SDK. Only `server/` turns a definition into a server.
 */
export interface EnvironmentDefinition {
  readonly name: string;
  readonly version: string;
  readonly instructions: string | undefined;
  /** Number of sessions that may share one process. */
  readonly sessionsPerProcess: number;
  /** True if the tools of the environment act on the machine itself, without a sandbox. */
  readonly unsandboxed: boolean;
  /** All other constructor options. They are passed to the MCP server underneath. */
  readonly serverOptions: Readonly<Record<string, unknown>>;
  readonly tools: ReadonlyMap<string, ToolDefinition>;
  readonly hubs: ReadonlyMap<string, HubDefinition>;
  readonly scenarios: ReadonlyMap<string, ScenarioDefinition>;
  readonly resources: ReadonlyMap<string, ResourceDefinition>;
  readonly prompts: ReadonlyMap<string, PromptDefinition>;
  /** The other MCP servers that are part of the environment, by the names that the author gave them. */
  readonly connections: ReadonlyMap<string, ConnectionDefinition>;
  /** The sandboxes that each session gets, by name. */
  readonly sandboxes: ReadonlyMap<string, SandboxDeclaration>;
  readonly initializeHooks: readonly InitializeHook[];
  /** Hooks in the order of their registration. They run in reverse order. */
  readonly shutdownHooks: readonly Hook[];
  readonly closeHooks: readonly Hook[];
  /** Emits an event when the author adds, removes or changes a declaration while sessions are open. */
  readonly changes: Changes<DefinitionChange>;
  /** Called each time that a client has received the list of tools. */
  readonly onToolsListed?: (() => void) | undefined;
}

/** A change: either declarations were added or removed, or the content of a resource changed. */
export type DefinitionChange = { readonly kind: 'declared' } | { readonly kind: 'resource'; readonly uri: string };

export type Awaitable<T> = T | Promise<T>;
export type Audience = 'agent' | 'harness';
/** The audience of a hub. With `user`, agents cannot see it, and the harness calls it for a simulated user. */
export type HubAudience = Audience | 'user';
export type Hook = () => Awaitable<void>;
export type InitializeHook = (context: InitializeContext) => Awaitable<void>;

export type ParseResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly SchemaIssue[] };

/** A compiled schema of any supported library: its JSON Schema for the wire, and the check of values. */
export interface CompiledSchema {
  readonly jsonSchema: JsonSchema;
  /**
   * Checks a value and fills in defaults. It refuses unknown names (unless the schema allows them) and names each bad
   * field.
   */
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
  /** Sizes such as `48x48`, or `any`. */
  readonly sizes?: readonly string[];
  readonly theme?: 'light' | 'dark';
}

export interface ToolDefinition {
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly annotations: ToolAnnotations | undefined;
  readonly icons?: readonly Icon[] | undefined;
  /** `_meta` of the tool's entry in the list of tools. */
  readonly meta?: JsonObject | undefined;
  readonly input: CompiledSchema;
  readonly output: CompiledSchema | undefined;
  /** Runs the tool. `input` has parsed `args` already. `toToolResult` turns the return value into a result. */
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
  /**
   * Patterns (`*` matches any run of characters) of the tools that an agent may use here. Undefined allows all tools.
   */
  readonly tools: readonly string[] | undefined;
  /** Kinds of tools that a model provider runs, and that an outside agent may use. Undefined allows none. */
  readonly providerTools?: readonly string[] | undefined;
  readonly system: string | undefined;
  readonly answer: CompiledSchema | undefined;
  readonly chat: Readonly<Record<string, unknown>> | undefined;
  /** Starts the scenario. All styles that an author can write in become this one form. */
  start(args: unknown, context: ToolContext): ScenarioRun;
  readonly solution: ((args: unknown) => SolutionSource) | undefined;
  /** Parts that may differ from one session to the next without being an error. */
  readonly volatile?: readonly VolatilePart[] | undefined;
  /**
   * The user that the agent talks with. Undefined: the scenario has no user, and the first text of the agent is its
   * answer.
   */
  readonly user?: UserDefinition | undefined;
  /** True: programs of the agent go on while the scenario is evaluated. Otherwise the sandboxes are frozen before. */
  readonly isGradedLive?: boolean | undefined;
  /** True: a run is refused before it is created if it has no model for judges. */
  readonly needsJudge?: boolean | undefined;
  /** Tasks as the author declared them, not checked yet. */
  readonly tasks?: DeclaredTaskSource | undefined;
}

/** A simulated user: a model with instructions, or a function of the author. */
export interface UserDefinition {
  /** The instructions of the model. Undefined if the user is a function. */
  readonly instructions: ((args: unknown) => string) | undefined;
  readonly model: string | undefined;
  /** Names of functions in hubs with the audience `user`. */
  readonly tools: readonly string[];
  /** Maximum number of replies of the user. */
  readonly maxTurns: number;
  /** Returns the next message of the user, or null to end the conversation. Undefined if the user is a model. */
  readonly next: ((conversation: readonly UserMessage[], context: ToolContext) => Awaitable<string | null>) | undefined;
}

/** A list of tasks, or a function that returns one. */
export type DeclaredTaskSource<Declared = unknown> = readonly Declared[] | (() => Awaitable<readonly Declared[]>);

/** A started scenario. Its starter must close it, even if a half has failed. */
export interface ScenarioRun {
  /** Runs the first half, which gives the prompt. */
  prompt(): Promise<readonly PromptMessage[]>;
  /** Runs the second half. @throws EvaluationMissingError if the author returned no evaluation. */
  evaluate(answer: unknown): Promise<Evaluation>;
  /**
   * Runs the author's `finally` once; further calls are allowed at any time. A half that is still running ends first:
   * abort the signal of the context to hasten it. If that half never ends, neither does this promise, so limit the
   * wait. Rejects with the error that `finally` throws.
   */
  close(): Promise<void>;
}

export interface SolutionCall {
  readonly name: string;
  /**
   * JSON. A property that is undefined is left out. TypeScript adds such properties when the calls in a list have
   * different arguments.
   */
  readonly arguments: { readonly [name: string]: Json | undefined };
}
/**
 * The calls and the answer of a solution. `Answer` is the input type of the scenario's `answer` schema. The answer may
 * be left out if the schema allows undefined.
 */
export type SolutionData<Answer = AnyValue> = { readonly calls: readonly SolutionCall[] } & (undefined extends Answer
  ? { readonly answer?: Answer }
  : { readonly answer: Answer });
/** A tool's result as a solution generator receives it. */
export interface SolutionToolResult {
  readonly content: readonly ContentBlock[];
  /** The text of all text blocks, joined by line breaks. */
  readonly text: string;
  /** The object that the tool returned, or `{ result: [...] }` if it returned a list. Null for anything else. */
  readonly structured_content: JsonObject | null;
  /** Always false, because a failed call ends the run of `proctor/oracle`. */
  readonly is_error: boolean;
}
/** A generator that yields calls and returns the answer. */
export type SolutionGenerator<Answer = AnyValue> = AsyncGenerator<SolutionCall, Answer, SolutionToolResult>;
export type SolutionSource<Answer = AnyValue> = Awaitable<SolutionData<Answer>> | SolutionGenerator<Answer>;

export interface ResourceDefinition {
  readonly uri: string;
  /** True if the URI has `{variables}` (RFC 6570 level 1). */
  readonly isTemplate: boolean;
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly mimeType: string | undefined;
  readonly audience: Audience;
  /** Completers by the name of the variable in the template. */
  readonly completers?: ReadonlyMap<string, Completer>;
  /** Returns text, bytes (Uint8Array), or any other value, which is sent as JSON. */
  read(variables: Readonly<Record<string, string>>, context: ToolContext): Awaitable<unknown>;
}

export type PromptBlock = ContentBlock | ImageContent | AudioContent | EmbeddedResource | ResourceLink;

/** A message of an MCP prompt. It may hold every kind of content block that a tool's result may hold. */
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
  /** Completers by the name of the argument. */
  readonly completers: ReadonlyMap<string, Completer>;
  /** Returns text or messages. */
  get(args: Readonly<Record<string, string>>, context: ToolContext): Awaitable<string | readonly RichPromptMessage[]>;
}

/** The context of a completer. */
export interface CompletionContext {
  /** The arguments or variables that have a value already. */
  readonly arguments: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly session: Session;
}

/**
 * Suggests values of one argument. A list suggests those of its values that begin with the typed text. A function gets
 * the typed text and returns the values to suggest, the best first.
 */
export type Completer =
  | readonly string[]
  | ((value: string, context: CompletionContext) => Awaitable<readonly string[]>);
