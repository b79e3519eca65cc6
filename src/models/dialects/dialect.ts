import type { TranscriptMessage } from '../../contract/chat.ts';
import type { ApiError } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { ModelDelta, ModelOutput } from './model-output.ts';
import type { ProviderTool } from './provider-tools.ts';
import type { OfferedTool, ToolNames } from './tool-names.ts';

/**
 * The protocols that agents speak to models: OpenAI chat completions, OpenAI Responses, Anthropic Messages, and Gemini's
 * `generateContent`. The names are those of `gateways[].dialects`.
 */
export const DIALECT_NAMES = ['chat', 'responses', 'messages', 'gemini'] as const;
export type DialectName = (typeof DIALECT_NAMES)[number];

/** One protocol: reads agents' requests and writes answers, and does the same for a gateway that speaks it. */
export interface Dialect {
  readonly name: DialectName;
  /**
   * Reads a request into the internal form. Unknown fields and item types are ignored.
   *
   * @throws ApiError `invalid_parameter` or `missing_required_parameter`, also for unsupported features: several
   *   answers (`n`), and conversations stored on the server (`previous_response_id`).
   */
  readRequest(received: ReceivedRequest): DialectRequest;
  /**
   * All model settings of a request, as fields of chat completions: those of `settings`, and sampling settings such as
   * the temperature, which a seat takes from its run.
   */
  toSampling(request: DialectRequest): JsonObject;
  /** Body of an answer that is not streamed. */
  writeResponse(request: DialectRequest, output: ModelOutput, head: ReplyHead): JsonObject;
  /** Starts a streamed answer with the content type `text/event-stream`. */
  createStream(request: DialectRequest, head: ReplyHead): DialectStream;
  /** An error before anything was streamed. */
  writeError(error: DialectError): ErrorReply;
  /** Body of `GET /models`. */
  writeModels(models: readonly ListedModel[]): JsonObject;
  /** Body of `GET /models/{id}`. */
  writeModel(model: ListedModel): JsonObject;
  /** Body of the answer to a request that counts tokens. */
  writeTokenCount(tokens: number): JsonObject;
  /** The request for a gateway that speaks this dialect. */
  toRelayed(request: DialectRequest, options: RelayOptions): RelayedRequest;
  /** Reads a gateway's answer that is not streamed. @throws GatewayFailure for an error or an unknown format. */
  readResponse(request: DialectRequest, body: unknown): ModelOutput;
  /** Starts reading a gateway's streamed answer. */
  createStreamReader(request: DialectRequest): StreamReader;
}

export interface ReceivedRequest {
  /** Parsed JSON body. */
  readonly body: unknown;
  /** Model name in the path, if the dialect has it there (Gemini). */
  readonly model?: string | undefined;
  /** True if the path requests a stream (Gemini). */
  readonly isStreamed?: boolean | undefined;
}

export interface DialectRequest {
  readonly dialect: DialectName;
  /** Original body of the request. */
  readonly body: JsonObject;
  /** Name of the model that the agent requested. */
  readonly model: string | null;
  readonly isStreamed: boolean;
  /**
   * Messages in an order that gateways accept: results follow their calls. A result without a call becomes text of the
   * user. An image that is only an address becomes a text with the address.
   */
  readonly messages: readonly TranscriptMessage[];
  /** Tools, each under a unique name that gateways accept and that internal calls use. */
  readonly tools: readonly OfferedTool[];
  /** Maps tool names between the internal form and the dialect. */
  readonly names: ToolNames;
  /**
   * Settings of the agent for the gateway, as fields of chat completions: `max_tokens`, `stop`, `tool_choice`,
   * `parallel_tool_calls`, `response_format` and `reasoning_effort`.
   */
  readonly settings: JsonObject;
  /** Tools that the provider would run itself. */
  readonly providerTools: readonly ProviderTool[];
  /** Addresses of images that the provider would have to fetch. */
  readonly remoteImages: readonly string[];
  /** True if the agent wants the usage in a stream (chat completions). */
  readonly wantsUsage: boolean;
  /** Messages of `messages` that were results without a call. */
  readonly lostResults: readonly TranscriptMessage[];
}

export interface ReplyHead {
  /** Letters, digits, `-` and `_`. Repeated answers of one step have the same id. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Model name that the agent sees. */
  readonly model: string;
  /** Tokens of the prompt, if they are known before the answer. */
  readonly promptTokens?: number | undefined;
  /** Proctor's own fields, added wherever the protocol describes the whole answer. */
  readonly extra?: JsonObject | undefined;
}

/**
 * Writes a streamed answer. The text that each function returns is sent to the agent at once. After the first non-empty
 * text the reply is a stream. A stream ends with `complete` and `end`, or with `fail`.
 */
export interface DialectStream {
  /** Writes a piece of text from the model. */
  delta(delta: ModelDelta): string;
  /** Shows that the connection is alive. Called after 5 to 15 seconds without other output. */
  keepAlive(): string;
  /**
   * Begins the answer without text and carries Proctor's own fields. Undefined in protocols that have no place for it.
   */
  note?(extra?: JsonObject): string;
  /**
   * Writes the rest of the answer, including calls, except for the end.
   *
   * @param extra Proctor's own fields for the description of the whole answer.
   */
  complete(output: ModelOutput, extra?: JsonObject): string;
  /** Writes the end, which tells the agent that the answer is complete. Called after `complete`. */
  end(): string;
  /** Writes an error in place of the rest. */
  fail(error: DialectError): string;
}

export interface DialectError {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  /** Headers such as `retry-after`. */
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
  /** Fields of chat completions that take precedence over the agent's. */
  readonly sampling: JsonObject;
  readonly apiKey: string | undefined;
  /** Headers of the agent's request. Those with the protocol version are passed on. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface RelayedRequest {
  /** Path below the gateway's base address, with a query if needed. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

/** Reads a stream of server-sent events while passing it on, and holds back its end. */
export interface StreamReader {
  /** Adds bytes. @returns the bytes for the agent: complete events before the end of the answer. */
  add(bytes: Uint8Array): Uint8Array;
  /**
   * Called at the end of the stream.
   *
   * @returns the response. `heldBack` is sent to the agent once the response is stored.
   * @throws GatewayFailure for an error in the stream or a missing end; `heldBack` has the bytes that were not passed
   *   on.
   */
  finish(): ModelOutput;
  /** Bytes that the agent gets after all others. */
  readonly heldBack: Uint8Array;
  /** Called with each piece of text. */
  onDelta?: (delta: ModelDelta) => void;
}

/** Statuses at model addresses that differ from Proctor's own routes. Agents would retry a 409 for a minute. */
const OTHER_STATUSES: Readonly<Record<string, number>> = { run_finished: 400 };

/** Converts an error for `writeError` and `fail`. @param status of the gateway, if it sent one. */
export function toDialectError(error: ApiError, status?: number): DialectError {
  const { code, message, param, headers } = error;
  return { status: status ?? OTHER_STATUSES[code] ?? error.status, code, message, param, headers };
}
