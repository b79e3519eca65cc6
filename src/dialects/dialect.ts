import type { TranscriptMessage } from '../contract/chat.ts';
import type { ApiError } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { ModelDelta, ModelOutput } from './model-output.ts';
import type { ProviderTool } from './provider-tools.ts';
import type { OfferedTool, ToolNames } from './tool-names.ts';

/**
 * The protocols that agents speak to models: OpenAI chat completions, OpenAI Responses, Anthropic Messages, and Gemini's
 * `generateContent`. The names are those of `gateways[].dialects`.
 */
export const DIALECT_NAMES = ['chat', 'responses', 'messages', 'gemini'] as const;
export type DialectName = (typeof DIALECT_NAMES)[number];

/** One protocol: reads requests of agents and writes answers to them, and the same of a gateway that speaks it. */
export interface Dialect {
  readonly name: DialectName;
  /**
   * A request in the inner form. Unknown fields and unknown kinds of items are ignored.
   *
   * @throws ApiError `invalid_parameter` or `missing_required_parameter`, also for what no address of ours answers:
   *   several answers (`n`), and conversations that the server would have to keep (`previous_response_id`).
   */
  readRequest(received: ReceivedRequest): DialectRequest;
  /** Body of an answer that is not streamed. */
  writeResponse(request: DialectRequest, output: ModelOutput, head: ReplyHead): JsonObject;
  /** A streamed answer, whose text goes to the agent with the content type `text/event-stream`. */
  createStream(request: DialectRequest, head: ReplyHead): DialectStream;
  /** An error before anything was streamed. */
  writeError(error: DialectError): ErrorReply;
  /** Body of `GET /models`. */
  writeModels(models: readonly ListedModel[]): JsonObject;
  /** Body of `GET /models/{id}`. */
  writeModel(model: ListedModel): JsonObject;
  /** Body of an answer to a question for the number of tokens. */
  writeTokenCount(tokens: number): JsonObject;
  /** The request as it goes to a gateway that speaks this dialect. */
  toRelayed(request: DialectRequest, options: RelayOptions): RelayedRequest;
  /** Reads a gateway's whole answer to it. @throws AnswerFailure for an error, or what is no answer. */
  readResponse(request: DialectRequest, body: unknown): ModelOutput;
  /** Reads along a gateway's streamed answer to it. */
  createStreamReader(request: DialectRequest): StreamReader;
}

export interface ReceivedRequest {
  /** The JSON of the body. */
  readonly body: unknown;
  /** Name of the model in the path, where the dialect has it there (Gemini). */
  readonly model?: string | undefined;
  /** Whether the path asks for a stream (Gemini). */
  readonly isStreamed?: boolean | undefined;
}

export interface DialectRequest {
  readonly dialect: DialectName;
  /** As it came. */
  readonly body: JsonObject;
  /** The model that the agent asked for. */
  readonly model: string | null;
  readonly isStreamed: boolean;
  /**
   * In an order that gateways take: results follow their calls. A result without its call is text of the user, and an
   * image that is only an address is text that names it.
   */
  readonly messages: readonly TranscriptMessage[];
  /** Each under a name of its own, which gateways take and which calls carry in the inner form. */
  readonly tools: readonly OfferedTool[];
  /** Names of the tools here and in the dialect. */
  readonly names: ToolNames;
  /**
   * The agent's settings that pass to the gateway, as fields of chat completions: `max_tokens`, `stop`,
   * `tool_choice`, `parallel_tool_calls`, `response_format` and `reasoning_effort`.
   */
  readonly settings: JsonObject;
  /** Things that the provider would do beside the model. */
  readonly providerTools: readonly ProviderTool[];
  /** Addresses of images that the provider would have to fetch. */
  readonly remoteImages: readonly string[];
  /** Whether the agent wants the usage in a stream (chat completions). */
  readonly wantsUsage: boolean;
}

export interface ReplyHead {
  /** Letters, digits, `-` and `_`. The same for one step, however often it is answered. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Name of the model for the agent. */
  readonly model: string;
  /** Tokens of the prompt, where they are known before the model has answered. */
  readonly promptTokens?: number | undefined;
}

/**
 * Writes a streamed answer: what each function returns goes to the agent at once. The first text that is not empty
 * commits the reply to be a stream. A stream ends by `complete` and `end`, or by `fail`.
 */
export interface DialectStream {
  /** Text as it comes from the model. */
  delta(delta: ModelDelta): string;
  /** Shows that the connection is alive. Every 5 to 15 seconds in which nothing else is sent. */
  keepAlive(): string;
  /** The rest of the answer, calls among it: everything but the end. */
  complete(output: ModelOutput): string;
  /** The end, by which the agent knows that the answer is whole. After `complete`. */
  end(): string;
  /** An error in place of the rest. */
  fail(error: DialectError): string;
}

export interface DialectError {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  /** `retry-after` and the like. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface ErrorReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

export interface ListedModel {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

export interface RelayOptions {
  /** Name of the model at the gateway. */
  readonly model: string;
  /** Fields of chat completions that win over the agent's. */
  readonly sampling: JsonObject;
  readonly apiKey: string | undefined;
  /** Those of the agent's request; the ones that say the version of the protocol go along. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface RelayedRequest {
  /** Below the gateway's base address, with a query where it needs one. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

/** Reads along a stream of server-sent events, and holds its end back. */
export interface StreamReader {
  /** @returns the bytes that may go on to the agent: whole events before the end of the answer. */
  add(bytes: Uint8Array): Uint8Array;
  /**
   * When no more comes.
   *
   * @returns the response, and the bytes that were held back, which go on once it is stored.
   * @throws AnswerFailure for an error in the stream, or where its end is missing; `heldBack` has what was not handed on.
   */
  finish(): ModelOutput;
  /** Bytes that go on to the agent after all others. */
  readonly heldBack: Uint8Array;
  /** Told of the text as it comes. */
  onDelta?: (delta: ModelDelta) => void;
}

/** Statuses at a model address that differ from those of our own routes: agents try a 409 again for a minute. */
const OTHER_STATUSES: Readonly<Record<string, number>> = { run_finished: 400 };

/** An error of ours for `writeError` and `fail`. @param status of a gateway, which passes through. */
export function toDialectError(error: ApiError, status?: number): DialectError {
  const { code, message, param, headers } = error;
  return { status: status ?? OTHER_STATUSES[code] ?? error.status, code, message, param, headers };
}
