import type { Writable } from 'node:stream';
import { isJsonObject, type Json, type JsonObject } from '../contract/json.ts';
import { PROCTOR_VERSION } from '../runtime/version.ts';
import { JsonRpcLines, RpcError } from './json-rpc-lines.ts';

/** The version of the Agent Client Protocol that adapters speak. */
const PROTOCOL_VERSION = 1;
/** Milliseconds for each message before the prompt: one agent takes 20 s to start on a busy machine. */
const START_MS = 120_000;
const AUTH_REQUIRED = -32_000;
/** Characters of an answer that are kept. */
const MAX_TEXT = 4 * 1_024 * 1_024;

export interface AcpTask {
  /** Absolute. */
  readonly cwd: string;
  readonly mcp: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  /** Given what the agent says that it takes. */
  toPrompt(takes: { readonly images: boolean }): readonly JsonObject[];
}

export interface AcpEnd {
  /** As the agent says it: `end_turn`, `max_tokens`, `max_turn_requests`, `refusal`, `cancelled`. */
  readonly stopReason: string;
  /** The text that it wrote last; null where it wrote none. */
  readonly text: string | null;
}

/** An agent that says it takes no MCP server over HTTP, so that it would play without tools. */
export class AcpWithoutHttpError extends Error {
  override readonly name = 'AcpWithoutHttpError';

  constructor() {
    super('It takes no MCP servers over HTTP (its `mcpCapabilities.http` is not true), so that it would have no tools');
  }
}

/**
 * The client's side of the Agent Client Protocol, version 1, for one prompt: permissions are granted, requests for files
 * and terminals are refused, since the tools of a scenario are those of its MCP server; updates that are not known are
 * ignored.
 */
export class AcpSession {
  readonly #rpc: JsonRpcLines;
  #text = '';
  #isText = false;
  #sessionId: string | undefined;

  constructor(input: Writable) {
    this.#rpc = new JsonRpcLines(input, {
      onRequest: (method, params) => (method === 'session/request_permission' ? grant(params) : undefined),
      onNotification: (method, params) => {
        if (method === 'session/update') this.#onUpdate(params);
      },
    });
  }

  read(chunk: Buffer): void {
    this.#rpc.read(chunk);
  }

  /** The agent has ended. */
  close(cause: Error): void {
    this.#rpc.close(cause);
  }

  /**
   * Has it play the task, to its end.
   *
   * @throws AcpWithoutHttpError; RpcError with which it refused; the reason of the signal, after it was told to stop; what
   *   it was closed with.
   */
  async play(task: AcpTask, signal: AbortSignal): Promise<AcpEnd> {
    const limit = { signal, ms: START_MS };
    const hello = asObject(
      await this.#rpc.request(
        'initialize',
        {
          protocolVersion: PROTOCOL_VERSION,
          clientInfo: { name: 'proctor', title: 'Proctor', version: PROCTOR_VERSION },
          clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
        },
        limit,
      ),
    );
    if (hello.protocolVersion !== PROTOCOL_VERSION) {
      const version = JSON.stringify(hello.protocolVersion);
      throw new Error(
        `It speaks version ${version} of the Agent Client Protocol, and ${PROTOCOL_VERSION} was asked for`,
      );
    }
    const capabilities = asObject(hello.agentCapabilities);
    if (asObject(capabilities.mcpCapabilities).http !== true) throw new AcpWithoutHttpError();
    const headers = Object.entries(task.mcp.headers).map(([name, value]) => ({ name, value }));
    const mcpServers = [{ type: 'http', name: 'env', url: task.mcp.url, headers }];
    const session = await this.#open({ cwd: task.cwd, mcpServers }, hello, limit);
    this.#sessionId = typeof session.sessionId === 'string' ? session.sessionId : '';
    const images = asObject(capabilities.promptCapabilities).image === true;
    return await this.#prompt(this.#sessionId, task.toPrompt({ images }), signal);
  }

  async #open(
    params: JsonObject,
    hello: JsonObject,
    limit: { readonly signal: AbortSignal; readonly ms: number },
  ): Promise<JsonObject> {
    try {
      return asObject(await this.#rpc.request('session/new', params, limit));
    } catch (error) {
      const [first] = Array.isArray(hello.authMethods) ? hello.authMethods : [];
      const methodId = asObject(first).id;
      const isAsked = error instanceof RpcError && error.code === AUTH_REQUIRED && typeof methodId === 'string';
      if (!isAsked) throw error;
      await this.#rpc.request('authenticate', { methodId }, limit);
      return asObject(await this.#rpc.request('session/new', params, limit));
    }
  }

  async #prompt(sessionId: string, prompt: readonly JsonObject[], signal: AbortSignal): Promise<AcpEnd> {
    const cancel = () => this.#rpc.notify('session/cancel', { sessionId });
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const end = asObject(await this.#rpc.request('session/prompt', { sessionId, prompt: [...prompt] }, { signal }));
      const stopReason = typeof end.stopReason === 'string' ? end.stopReason : 'end_turn';
      return { stopReason, text: this.#text === '' ? null : this.#text };
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  /** Chunks that follow each other are one text; what comes between begins the next. */
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

/** Updates that end a text; others, such as those of usage, come within one. */
const PARTS: ReadonlySet<string> = new Set([
  'tool_call',
  'tool_call_update',
  'agent_thought_chunk',
  'user_message_chunk',
]);

/** Grants what is asked for, once where that is offered, and gives up where nothing can be granted. */
function grant({ options }: JsonObject): Json {
  const offered = Array.isArray(options) ? options.map(asObject) : [];
  const chosen = ['allow_once', 'allow_always'].flatMap((kind) => offered.filter((option) => option.kind === kind))[0];
  if (typeof chosen?.optionId !== 'string') return { outcome: { outcome: 'cancelled' } };
  return { outcome: { outcome: 'selected', optionId: chosen.optionId } };
}

function asObject(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
