import type { ContentBlock } from '../contract/chat.ts';
import type { BoundaryError } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { EnvironmentTool } from '../contract/run.ts';
import type { Evaluation, ScenarioEntry, SetupResult, Solution } from '../contract/scenario.ts';
import type { LogRecord } from '../contract/trace.ts';
import type { InMemoryTarget } from '../mcp/in-memory.ts';

/**
 * An MCP client of one environment, in one session, as a harness. It lists and calls tools as an agent, so that the
 * server decides what a model may reach; setup, evaluation and solutions it asks for as the harness.
 *
 * Every method takes a signal and rejects with a `BoundaryError` (environment, setup, tool, evaluate) that says what
 * failed, or, when the signal is aborted, with its reason. Whoever connected it closes it.
 */
export interface EnvironmentClient {
  readonly name: string;
  readonly version: string;
  /** The MCP revision that was agreed on, such as `2025-11-25`. */
  readonly protocol: string;
  /** Pipes of a process or a network; undefined where the environment is in this process. */
  readonly transport?: 'pipe' | 'tcp' | undefined;
  /** True where its process holds other sessions too: they are lost together. */
  readonly isShared?: boolean;
  /** True as soon as its process is known to have ended: before a request fails of that. */
  readonly isLost?: boolean;
  /** Resolves, with how it happened, when the other end is gone though nobody closed it. Never rejects. */
  readonly lost?: Promise<BoundaryError>;

  scenarios(options?: CallOptions): Promise<readonly ScenarioEntry[]>;
  /** Runs the scenario's first half. @throws BoundaryError boundary `setup`. */
  setup(scenario: string, args: JsonObject, options?: CallOptions): Promise<SetupResult>;
  /** Tools that an agent may call, in the server's order; with a scenario's patterns, those that match. */
  tools(options?: CallOptions & { readonly patterns?: readonly string[] | null }): Promise<readonly AgentToolEntry[]>;
  /** Calls a tool as an agent. A failure that the agent may see is a result with `is_error`, an unknown name among them. */
  call(name: string, args: JsonObject, options?: CallOptions): Promise<ToolResult>;
  /** Runs the scenario's second half. @throws BoundaryError boundary `evaluate`. */
  evaluate(scenario: string, answer: unknown, options?: CallOptions): Promise<Evaluation>;
  /** Calls a function of a hub as the harness, for a simulated user. What the function throws is a result. */
  callFunction?(hub: string, name: string, args: JsonObject, options?: CallOptions): Promise<ToolResult>;
  /** From now on `sample` answers what the environment's code asks of a model. Before, and without, such a question fails. */
  answerSamples?(sample: Sampler): void;
  /** The scenario's solution; `results` continues one that is a generator. @throws BoundaryError where there is none. */
  solution(
    scenario: string,
    args: JsonObject,
    results: readonly ToolResult[],
    options?: CallOptions,
  ): Promise<Solution>;
  /** Ends the session and what was started for it: SIGTERM to a process's group, SIGKILL after the budget. Never rejects. */
  close(): Promise<void>;
}

/** A text of a conversation between an agent (`assistant`) and its user. */
export interface UserMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

/** A question of the environment's code to a model of its harness (MCP sampling). */
export interface SampleRequest {
  /** `svc/purpose` of the question, such as `judge`; undefined: the author's own. */
  readonly purpose: string | undefined;
  readonly system: string | null;
  readonly messages: readonly UserMessage[];
  readonly maxTokens: number;
  /** The rest of `_meta`, unchecked. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** True while the harness has the scenario evaluated on this connection: judges are asked then alone. */
  readonly isEvaluating: boolean;
  /** Aborted when the environment takes the question back, and when the evaluation that asked it is over. */
  readonly signal: AbortSignal;
}

/** @throws Error whose message the environment's code gets. */
export type Sampler = (request: SampleRequest) => Promise<{ readonly text: string; readonly model: string }>;

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** For `_meta` of the request, such as the trace that it belongs to (`traceparent`, SEP-414). */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** Milliseconds; 0 or less: none beside the signal. */
  readonly timeoutMs?: number;
  readonly onProgress?: (progress: {
    readonly progress: number;
    readonly total: number | null;
    readonly message: string | null;
  }) => void;
}

/** As an agent is shown it; a server that gives no description has its title there. */
export type AgentToolEntry = Readonly<EnvironmentTool>;

export interface ToolResult {
  readonly content: readonly ContentBlock[];
  readonly structured_content: JsonObject | null;
  readonly is_error: boolean;
}

/** How to reach an environment, and what it may take. */
export type EnvironmentTarget = EnvironmentWay & { readonly limits?: EnvironmentLimits };

export interface EnvironmentLimits {
  /** Runs of it that a worker executes at once; default: as many as the worker does. */
  readonly concurrency?: number;
  /** MiB that all processes of one run's environment may hold together; default 2,048. 0: no limit. */
  readonly memoryMiB?: number;
  /** Sessions that may share one process of a module; default: as many as its code says. */
  readonly sessionsPerProcess?: number;
}

type EnvironmentWay =
  /** An environment module (`environment.ts` or `.js`): a process of its own for each connection. */
  | { readonly kind: 'module'; readonly path: string; readonly env?: Readonly<Record<string, string>> }
  /** Any other program that serves MCP over stdio. */
  | {
      readonly kind: 'command';
      readonly command: string;
      readonly args: readonly string[];
      readonly env?: Readonly<Record<string, string>>;
      readonly cwd?: string;
    }
  /** An environment that runs elsewhere, over Streamable HTTP. */
  | {
      readonly kind: 'url';
      readonly url: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly harnessKey?: string;
    }
  /** In this process: `inMemory(environment)` makes it. */
  | InMemoryTarget;

export interface ConnectOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds until the handshake, the initialize hook included, has to be done. Default 60,000. */
  readonly timeoutMs?: number;
  /** `_meta` of `initialize`, such as `display_width`. */
  readonly meta?: JsonObject;
  /** Called once when it has to wait for no other session any more: its start begins, or a process is there for it. */
  readonly onAdmitted?: () => void;
  /** Called once when a process that was started for it has loaded its code. */
  readonly onReady?: () => void;
  /** Log of the environment: MCP log messages, and lines of a process's standard error. */
  readonly onLog?: (record: Omit<LogRecord, 'at'>) => void;
  /**
   * For `scenarios` and `tools` alone: without a handshake, as an agent, so that no initialize hook runs to answer them. Only for an
   * environment of this package, since other servers may not know MCP 2026-07-28. Default false.
   */
  readonly isForReading?: boolean;
}
