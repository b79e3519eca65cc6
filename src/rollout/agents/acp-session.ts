import type { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import {
  type AgentRequestMethod,
  type AgentRequestParamsByMethod,
  type AnyMessage,
  type ClientConnection,
  type ContentBlock,
  client,
  type JsonRpcId,
  methods,
  type NewSessionRequest,
  PROTOCOL_VERSION,
  RequestError,
  type RequestPermissionResponse,
} from '@agentclientprotocol/sdk';
import { isJsonObject, type JsonObject, parseObject } from '../../contract/json.ts';
import { withDeadline } from '../../support/runtime/deadline.ts';
import { LineSplitter } from '../../support/runtime/line-splitter.ts';
import { PROCTOR_VERSION } from '../../support/runtime/version.ts';

/** Longest message from the agent, in characters. It is large because agents send whole files. */
const MAX_MESSAGE_LENGTH = 128 * 1_024 * 1_024;
/** Milliseconds for each message before the prompt. One known agent takes 20 s to start on a busy machine. */
const START_MS = 120_000;
const AUTH_REQUIRED = -32_000;
const INTERNAL_ERROR = -32_603;
/** Longest answer that is kept, in characters. */
const MAX_TEXT = 4 * 1_024 * 1_024;

export interface AcpTask {
  /** Absolute path of the working directory. */
  readonly cwd: string;
  readonly mcp: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  /** Makes the prompt, given the content that the agent accepts. */
  toPrompt(takes: { readonly images: boolean }): readonly ContentBlock[];
}

export interface AcpEnd {
  /** Stop reason in the agent's own words: `end_turn`, `max_tokens`, `max_turn_requests`, `refusal` or `cancelled`. */
  readonly stopReason: string;
  /** Last text of the agent; null if it wrote none. */
  readonly text: string | null;
}

interface Limit {
  readonly signal: AbortSignal;
  /** Milliseconds; without it the signal alone ends the wait. */
  readonly ms?: number;
}

/**
 * The client's side of version 1 of the Agent Client Protocol, for one prompt. It grants permissions. It refuses
 * requests for files and terminals, because a scenario offers tools only through its MCP server. It ignores unknown
 * updates.
 */
export class AcpSession {
  readonly #connection: ClientConnection;
  readonly #decoder = new StringDecoder('utf8');
  readonly #splitter = new LineSplitter(MAX_MESSAGE_LENGTH, (line, isCut) => this.#receive(line, isCut));
  readonly #waiting = new Set<JsonRpcId>();
  readonly #toSdk: (message: AnyMessage) => void;
  #isWithoutTools = false;
  #text = '';
  #isText = false;
  #sessionId: string | undefined;

  constructor(input: Writable) {
    const messages = new TransformStream<AnyMessage, AnyMessage>();
    const writer = messages.writable.getWriter();
    // A closed connection rejects the write; the message is not needed any more.
    this.#toSdk = (message) => void writer.write(message).catch(() => {});
    const writable = new WritableStream<AnyMessage>({
      write: (message) => {
        if ('method' in message && 'id' in message) this.#waiting.add(message.id);
        if (input.writable) input.write(`${JSON.stringify(message)}\n`);
      },
    });
    const permission = methods.client.session.requestPermission;
    this.#connection = client()
      .onRequest(permission, asObject, ({ params }) => grant(params))
      .connect({ readable: messages.readable, writable });
  }

  /** True if the agent said that it takes no MCP server over HTTP. It would play without tools. */
  get isWithoutTools(): boolean {
    return this.#isWithoutTools;
  }

  /** Reads a chunk of the agent's output. */
  read(chunk: Buffer): void {
    this.#splitter.push(this.#decoder.write(chunk));
  }

  /** Closes the connection after the agent's process has ended. */
  close(cause: Error): void {
    this.#connection.close(cause);
  }

  /**
   * Lets the agent play the task to its end.
   *
   * @throws RequestError with which the agent refused; Error if the agent cannot play; the signal's reason, after the
   *   agent was told to stop; the cause with which the session was closed.
   */
  async play(task: AcpTask, signal: AbortSignal): Promise<AcpEnd> {
    const limit = { signal, ms: START_MS };
    const hello = await this.#ask(
      methods.agent.initialize,
      {
        protocolVersion: PROTOCOL_VERSION,
        clientInfo: { name: 'proctor', title: 'Proctor', version: PROCTOR_VERSION },
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      },
      limit,
    );
    if (hello.protocolVersion !== PROTOCOL_VERSION) {
      const version = JSON.stringify(hello.protocolVersion);
      throw new Error(
        `It speaks version ${version} of the Agent Client Protocol, and ${PROTOCOL_VERSION} was asked for`,
      );
    }
    const capabilities = asObject(hello.agentCapabilities);
    this.#isWithoutTools = asObject(capabilities.mcpCapabilities).http !== true;
    if (this.#isWithoutTools) {
      throw new Error(
        'It takes no MCP servers over HTTP (its `mcpCapabilities.http` is not true), so that it would have no tools',
      );
    }
    const headers = Object.entries(task.mcp.headers).map(([name, value]) => ({ name, value }));
    const mcpServers = [{ type: 'http' as const, name: 'env', url: task.mcp.url, headers }];
    const session = await this.#open({ cwd: task.cwd, mcpServers }, hello, limit);
    this.#sessionId = typeof session.sessionId === 'string' ? session.sessionId : '';
    const images = asObject(capabilities.promptCapabilities).image === true;
    return await this.#prompt(this.#sessionId, task.toPrompt({ images }), signal);
  }

  async #open(params: NewSessionRequest, hello: JsonObject, limit: Limit): Promise<JsonObject> {
    try {
      return await this.#ask(methods.agent.session.new, params, limit);
    } catch (error) {
      const [first] = Array.isArray(hello.authMethods) ? hello.authMethods : [];
      const methodId = asObject(first).id;
      const isAsked = error instanceof RequestError && error.code === AUTH_REQUIRED && typeof methodId === 'string';
      if (!isAsked) throw error;
      await this.#ask(methods.agent.authenticate, { methodId }, limit);
      return await this.#ask(methods.agent.session.new, params, limit);
    }
  }

  async #prompt(sessionId: string, prompt: readonly ContentBlock[], signal: AbortSignal): Promise<AcpEnd> {
    const { agent } = this.#connection;
    // The notification fails if the agent has ended already.
    const cancel = () => void agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => {});
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const end = await this.#ask(methods.agent.session.prompt, { sessionId, prompt: [...prompt] }, { signal });
      const stopReason = typeof end.stopReason === 'string' ? end.stopReason : 'end_turn';
      return { stopReason, text: this.#text === '' ? null : this.#text };
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  /** Sends a request. The SDK does not check results, so the caller has to. */
  async #ask<Method extends AgentRequestMethod>(
    method: Method,
    params: AgentRequestParamsByMethod[Method],
    { signal, ms }: Limit,
  ): Promise<JsonObject> {
    const toError = (time: string) => new Error(`It did not answer ${method} within ${time}`);
    const answered = () => this.#connection.agent.request(method, params);
    return asObject(await withDeadline<unknown>(answered, { signal, ms, toError }));
  }

  /**
   * Passes requests, and the responses that it waits for, to the SDK. The SDK would print every other message to this
   * process's log, and an agent may write anything. Updates are read here, so that all of them arrive before the prompt
   * ends.
   */
  #receive(line: string, isCut: boolean): void {
    if (isCut) {
      this.close(new Error(`It sent a message of more than ${MAX_MESSAGE_LENGTH} characters`));
      return;
    }
    const message = line.startsWith('{') ? parseObject(line) : undefined;
    // Lines that are not JSON are in the log already.
    if (message === undefined) return;
    const { id, method } = message;
    if (typeof id !== 'string' && typeof id !== 'number') {
      if (method === methods.client.session.update) this.#onUpdate(asObject(message.params));
    } else if (typeof method === 'string') {
      this.#toSdk({ jsonrpc: '2.0', id, method, params: asObject(message.params) });
    } else if (this.#waiting.delete(id)) {
      const { result = null, error } = message;
      this.#toSdk(
        isJsonObject(error) ? { jsonrpc: '2.0', id, error: toRpcError(error) } : { jsonrpc: '2.0', id, result },
      );
    }
  }

  /** Joins consecutive chunks into one text. Any update of `PARTS` between two chunks starts a new text. */
  #onUpdate({ sessionId, update }: JsonObject): void {
    if (sessionId !== this.#sessionId || !isJsonObject(update)) return;
    const isChunk = update.sessionUpdate === 'agent_message_chunk';
    const { text } = asObject(update.content);
    if (isChunk && typeof text === 'string') {
      this.#text = (this.#isText ? this.#text + text : text).slice(0, MAX_TEXT);
      this.#isText = true;
    } else if (PARTS.has(String(update.sessionUpdate))) this.#isText = false;
  }
}

/** Updates that end a text. Others, such as those about usage, may come in the middle of one. */
const PARTS: ReadonlySet<string> = new Set([
  'tool_call',
  'tool_call_update',
  'agent_thought_chunk',
  'user_message_chunk',
]);

/** Grants a permission, for one use if the agent offers that. Cancels if no option grants it. */
function grant({ options }: JsonObject): RequestPermissionResponse {
  const offered = Array.isArray(options) ? options.map(asObject) : [];
  const chosen = ['allow_once', 'allow_always'].flatMap((kind) => offered.filter((option) => option.kind === kind))[0];
  if (typeof chosen?.optionId !== 'string') return { outcome: { outcome: 'cancelled' } };
  return { outcome: { outcome: 'selected', optionId: chosen.optionId } };
}

function toRpcError({ code, message }: JsonObject): { code: number; message: string } {
  return {
    code: typeof code === 'number' ? code : INTERNAL_ERROR,
    message: typeof message === 'string' ? message : 'it gave no reason',
  };
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
