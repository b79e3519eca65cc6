import type { ContentBlock } from '../../contract/chat.ts';
import type { BoundaryError } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type {
  Evaluation,
  SandboxEnd,
  SandboxFacts,
  SandboxRefusal,
  ScenarioEntry,
  SetupResult,
  Solution,
} from '../../contract/scenario.ts';
import type { EnvironmentTool } from '../../contract/service/run.ts';
import type { LogRecord } from '../../contract/service/trace.ts';
import type { InMemoryTarget } from '../server/in-memory.ts';

/**
 * An MCP client of one environment, in one session, used by a harness. It lists and calls tools as an agent, so the
 * server decides what a model may use. It runs setup, evaluation and solutions as the harness.
 *
 * Every method takes a signal. It rejects with a `BoundaryError` (environment, setup, tool, evaluate) that says what
 * failed, or with the reason of an aborted signal. The caller that connects the client has to close it.
 */
export interface EnvironmentClient {
  readonly name: string;
  readonly version: string;
  /** The MCP revision in use, such as `2025-11-25`. */
  readonly protocol: string;
  /** The connection: pipes of a process, or a network. Undefined if the environment runs in this process. */
  readonly transport?: 'pipe' | 'tcp' | undefined;
  /** True if its process also holds other sessions. They all end if the process dies. */
  readonly isShared?: boolean;
  /** True as soon as the process is known to have ended, even before a request fails. */
  readonly isLost?: boolean;
  /** Resolves with the cause if the connection ends without a call of `close`. Never rejects. */
  readonly lost?: Promise<BoundaryError>;

  scenarios(options?: CallOptions): Promise<readonly ScenarioEntry[]>;
  /** True if its sessions have sandboxes. */
  readonly hasSandboxes?: boolean;
  /**
   * Makes the sandboxes for a setup that follows. Empty if the environment has none. Without this call, the setup makes
   * them.
   *
   * @param run is the id of the run, for the labels. @throws BoundaryError boundary `environment`.
   */
  makeSandboxes?(
    scenario: string,
    args: JsonObject,
    run: string,
    options?: CallOptions,
  ): Promise<readonly SandboxFacts[]>;
  /** Called for each destination that the proxy of a sandbox has refused, with the result of a later call. */
  onSandboxRefusal?: ((refusal: SandboxRefusal) => void) | undefined;
  /** The changes that the agent made to its sandboxes, from the beginning of the evaluation on. */
  readonly sandboxEnds?: readonly SandboxEnd[];
  /** Runs the scenario's first half. @throws BoundaryError boundary `setup`. */
  setup(scenario: string, args: JsonObject, options?: CallOptions): Promise<SetupResult>;
  /** Tools that an agent may call, in the server's order; with a scenario's patterns, those that match. */
  tools(options?: CallOptions & { readonly patterns?: readonly string[] | null }): Promise<readonly AgentToolEntry[]>;
  /**
   * Calls a tool as an agent. Failures that the agent may see, such as an unknown tool name, are results with
   * `is_error`.
   */
  call(name: string, args: JsonObject, options?: CallOptions): Promise<ToolResult>;
  /** Runs the scenario's second half. @throws BoundaryError boundary `evaluate`. */
  evaluate(scenario: string, answer: unknown, options?: CallOptions): Promise<Evaluation>;
  /**
   * Calls a function of a hub as the harness, for a simulated user. An error of the function is returned as a result.
   */
  callFunction?(hub: string, name: string, args: JsonObject, options?: CallOptions): Promise<ToolResult>;
  /** Sets the function that answers questions of the environment's code to a model. Without it, such questions fail. */
  answerSamples?(sample: Sampler): void;
  /** Checks that the environment responds. @throws BoundaryError if it does not respond, and if it answers an error. */
  request?(method: 'ping', params: Record<string, never>, options?: CallOptions): Promise<unknown>;
  /**
   * Gets the scenario's solution. `results` continues a solution that is a generator. @throws BoundaryError if there is
   * none.
   */
  solution(
    scenario: string,
    args: JsonObject,
    results: readonly ToolResult[],
    options?: CallOptions,
  ): Promise<Solution>;
  /**
   * Ends the session and the process that was started for it: SIGTERM to the process group, SIGKILL after a time limit.
   * Never rejects.
   */
  close(): Promise<void>;
}

/** A message of the conversation between an agent (`assistant`) and its user. */
export interface UserMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

/** A question of the environment's code to a model of its harness (MCP sampling). */
export interface SampleRequest {
  /** `svc/purpose` of the question, such as `judge`. Undefined if the author's own code asks. */
  readonly purpose: string | undefined;
  readonly system: string | null;
  readonly messages: readonly UserMessage[];
  readonly maxTokens: number;
  /** The other fields of `_meta`, not checked. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** True while a scenario is being evaluated on this connection. Judges are asked only then. */
  readonly isEvaluating: boolean;
  /** Aborted if the environment cancels the question, and when the evaluation that asked it ends. */
  readonly signal: AbortSignal;
}

/** @throws Error whose message is sent to the environment's code. */
export type Sampler = (request: SampleRequest) => Promise<{ readonly text: string; readonly model: string }>;

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Added to `_meta` of the request, such as the trace it belongs to (`traceparent`, SEP-414). */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** Milliseconds. 0 or less means no limit except the signal. */
  readonly timeoutMs?: number;
  readonly onProgress?: (progress: {
    readonly progress: number;
    readonly total: number | null;
    readonly message: string | null;
  }) => void;
}

/** A tool as an agent sees it. If the server gives no description, the title is used. */
export type AgentToolEntry = Readonly<EnvironmentTool>;

export interface ToolResult {
  readonly content: readonly ContentBlock[];
  readonly structured_content: JsonObject | null;
  readonly is_error: boolean;
}

/** The way to reach an environment, and its limits. */
export type EnvironmentTarget = EnvironmentWay & { readonly limits?: EnvironmentLimits };

export interface EnvironmentLimits {
  /** Number of its runs that a worker executes at once. Default: the limit of the worker. */
  readonly concurrency?: number;
  /** MiB that all processes of one run's environment may use together. Default 2,048; 0 means no limit. */
  readonly memoryMiB?: number;
  /** Number of sessions that may share one process of a module. Default: the number in its code. */
  readonly sessionsPerProcess?: number;
}

type EnvironmentWay =
  /** An environment module (`environment.ts` or `.js`). Each connection gets its own process. */
  | { readonly kind: 'module'; readonly path: string; readonly env?: Readonly<Record<string, string>> }
  /** Any other program that serves MCP over standard input and output. */
  | {
      readonly kind: 'command';
      readonly command: string;
      readonly args: readonly string[];
      readonly env?: Readonly<Record<string, string>>;
      readonly cwd?: string;
    }
  /** A remote environment, over Streamable HTTP. */
  | {
      readonly kind: 'url';
      readonly url: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly harnessKey?: string;
    }
  /** An environment in this process, made by `inMemory(environment)`. */
  | InMemoryTarget;

export interface ConnectOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds for the handshake, the initialize hook included. Default 60,000. */
  readonly timeoutMs?: number;
  /** `_meta` of `initialize`, such as `display_width`. */
  readonly meta?: JsonObject;
  /** Called once when it no longer waits for other sessions: its start begins, or a waiting process is free. */
  readonly onAdmitted?: () => void;
  /** Called once when the process that was started for it has loaded its code. */
  readonly onReady?: () => void;
  /** Log of the environment: MCP log messages, and lines of a process's standard error. */
  readonly onLog?: (record: Omit<LogRecord, 'at'>) => void;
  /**
   * True if only `scenarios` and `tools` are used. It connects without a handshake, as an agent, so that no initialize
   * hook runs. Only for an environment of this package, because other servers may not know MCP 2026-07-28. Default
   * false.
   */
  readonly isForReading?: boolean;
}
