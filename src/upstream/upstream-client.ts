import {
  type CallToolResult,
  Client,
  type CompleteResult,
  type GetPromptResult,
  isInitializeRequest,
  isSpecType,
  type JSONRPCMessage,
  type ReadResourceResult,
} from '@modelcontextprotocol/client';
import type { JsonObject } from '../contract/json.ts';
import { META } from '../contract/names.ts';
import type { ConnectionDefinition } from '../environment/connection.ts';
import type { ClientOffer, LogLevel, ToolContext } from '../environment/definition.ts';
import { LONGEST_TIMER_MS } from '../runtime/longest-timer.ts';
import { PROCTOR_VERSION } from '../runtime/version.ts';
import { answerElicitation, answerSampling } from './client-answers.ts';
import { isOwnKey } from './own-meta.ts';
import { readCatalogue, type UpstreamCatalogue } from './upstream-catalogue.ts';
import type { UpstreamLink } from './upstream-link.ts';

export interface UpstreamClientParts {
  readonly definition: ConnectionDefinition;
  readonly link: UpstreamLink;
  /** The capabilities of the environment's client. The connected server is told those that can be passed through. */
  readonly capabilities: ClientOffer;
  /** How many environments are connected to each other up to this server, with ours. */
  readonly depth: number;
  /** Takes what goes to the log of the environment, in words that continue the name of the server. */
  readonly report: (text: string) => void;
}

/** Notifications of a connected server. */
export interface UpstreamEvents {
  onListsChanged?: () => void;
  onResourceUpdated?: (uri: string) => void;
  /** Once, when the connection is over for whatever reason. */
  onclose?: () => void;
}

const LOG_LEVELS: Readonly<Record<string, LogLevel>> = {
  debug: 'debug',
  info: 'info',
  notice: 'info',
  warning: 'warning',
};

/** One connection to a server, from its handshake to its end. Whoever opened it closes it. */
export class UpstreamClient {
  readonly events: UpstreamEvents = {};
  readonly #client: Client;
  readonly #parts: UpstreamClientParts;
  /** The requests of the environment that wait for the server, the latest last. */
  readonly #running = new Map<string, ToolContext>();
  #requests = 0;

  constructor(parts: UpstreamClientParts) {
    const { capabilities, link } = parts;
    this.#parts = parts;
    this.#client = new Client({ name: 'proctor', version: PROCTOR_VERSION }, { capabilities: passedOn(capabilities) });
    this.#answerTheServer(capabilities);
    // The SDK keeps the listener that it finds and calls it first. Its own handlers come later than the answer that
    // follows a notification, when nobody knows any more which request that was for.
    link.transport.onmessage = (message) => this.#listen(message);
    sayDepth(link.transport, parts.depth);
  }

  /** @throws Error of whatever kind when there is no connection; the reason of the signal. */
  async connect(signal: AbortSignal): Promise<void> {
    this.#client.onclose = () => this.events.onclose?.();
    this.#client.onerror = () => {};
    await this.#client.connect(this.#parts.link.transport, { signal, timeout: LONGEST_TIMER_MS });
  }

  catalogue(signal: AbortSignal): Promise<UpstreamCatalogue> {
    const { definition, report } = this.#parts;
    return readCatalogue(this.#client, definition, { signal, report });
  }

  /** True where clients can be told that a resource has changed. */
  get takesSubscriptions(): boolean {
    return this.#client.getServerCapabilities()?.resources?.subscribe === true;
  }

  /** @param name as the server knows it, as everywhere below. */
  callTool(name: string, args: JsonObject, context: ToolContext): Promise<CallToolResult> {
    return this.#during(context, (_meta, options) =>
      this.#client.request({ method: 'tools/call', params: { name, arguments: args, _meta } }, options),
    );
  }

  readResource(uri: string, context: ToolContext): Promise<ReadResourceResult> {
    return this.#during(context, (_meta, options) =>
      this.#client.request({ method: 'resources/read', params: { uri, _meta } }, options),
    );
  }

  getPrompt(name: string, args: Readonly<Record<string, string>>, context: ToolContext): Promise<GetPromptResult> {
    return this.#during(context, (_meta, options) =>
      this.#client.request({ method: 'prompts/get', params: { name, arguments: { ...args }, _meta } }, options),
    );
  }

  /** Completions of an argument; empty if the server has no completion. */
  async complete(params: CompletionParams, signal: AbortSignal): Promise<CompleteResult['completion']> {
    if (this.#client.getServerCapabilities()?.completions === undefined) return { values: [] };
    const options = { signal, timeout: LONGEST_TIMER_MS };
    const request = { method: 'completion/complete' as const, params: { ...params } };
    return (await this.#client.request(request, options)).completion;
  }

  async subscribe(uri: string): Promise<void> {
    await this.#client.request({ method: 'resources/subscribe', params: { uri } });
  }

  /** Never rejects. */
  async close(): Promise<void> {
    // The link first: it knows how to end what it has started, and the SDK's client would cut it short.
    await this.#parts.link.close();
    await this.#client.close().catch(() => {});
  }

  async #during<Result>(
    context: ToolContext,
    send: (meta: JsonObject, options: { signal: AbortSignal; timeout: number }) => Promise<Result>,
  ): Promise<Result> {
    this.#requests += 1;
    const token = `request-${this.#requests}`;
    this.#running.set(token, context);
    try {
      const progress = context.meta.progressToken === undefined ? {} : { progressToken: token };
      return await send(
        { ...passedMeta(context.meta), ...progress },
        { signal: context.signal, timeout: LONGEST_TIMER_MS },
      );
    } finally {
      this.#running.delete(token);
    }
  }

  #listen(message: JSONRPCMessage): void {
    if (!('method' in message) || 'id' in message) return;
    switch (message.method) {
      case 'notifications/progress':
        this.#passProgress(message);
        return;
      case 'notifications/message':
        this.#passLog(message);
        return;
      case 'notifications/resources/updated':
        if (isSpecType.ResourceUpdatedNotification(message)) this.events.onResourceUpdated?.(message.params.uri);
        return;
      case 'notifications/tools/list_changed':
      case 'notifications/resources/list_changed':
      case 'notifications/prompts/list_changed':
        this.events.onListsChanged?.();
    }
  }

  #passProgress(message: unknown): void {
    if (!isSpecType.ProgressNotification(message)) return;
    const { progressToken, progress, total, message: text } = message.params;
    const context = this.#running.get(String(progressToken));
    // Progress here is integers: a share of 1, or of anything small, would be lost.
    if (total === undefined || total <= 0 || (Number.isInteger(progress) && Number.isInteger(total) && total > 1)) {
      context?.progress(progress, total, text);
    } else {
      context?.progress((progress / total) * 100, 100, text);
    }
  }

  #passLog(message: unknown): void {
    if (!isSpecType.LoggingMessageNotification(message)) return;
    const { data, level } = message.params;
    const text = typeof data === 'string' ? data : JSON.stringify(data);
    const context = this.#latest();
    if (context === undefined) this.#parts.report(`said (${level}): ${text}`);
    else context.log[LOG_LEVELS[level] ?? 'error'](text);
  }

  /** Passes the server's requests to the client within the request that waits. MCP does not tell which one they belong to. */
  #answerTheServer(capabilities: ClientOffer): void {
    if (capabilities.elicitation) {
      this.#client.setRequestHandler('elicitation/create', ({ params }) => answerElicitation(params, this.#latest()));
    }
    if (capabilities.sampling) {
      this.#client.setRequestHandler('sampling/createMessage', ({ params }) => answerSampling(params, this.#latest()));
    }
  }

  #latest(): ToolContext | undefined {
    return [...this.#running.values()].at(-1);
  }
}

/** An environment that is connected to itself would open connections without end: each learns how deep it is. */
function sayDepth(transport: UpstreamLink['transport'], depth: number): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (!isInitializeRequest(message)) return send(message, options);
    const _meta = { ...message.params._meta, [META.connectionDepth]: depth };
    return send({ ...message, params: { ...message.params, _meta } }, options);
  };
}

export interface CompletionParams {
  readonly ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string };
  readonly argument: { name: string; value: string };
  readonly context?: { arguments?: Record<string, string> };
}

/** Not its roots: they are folders of the client, and servers let them replace the folders that the author gave. */
function passedOn({ elicitation, sampling }: ClientOffer) {
  return { ...(elicitation ? { elicitation: { form: {} } } : {}), ...(sampling ? { sampling: {} } : {}) };
}

/** The client's `_meta` without the entries for Proctor and for its own connection. */
function passedMeta(meta: Readonly<Record<string, unknown>>): JsonObject {
  const isPassed = (key: string) =>
    !isOwnKey(key) && key !== 'progressToken' && !key.startsWith('io.modelcontextprotocol/');
  return Object.fromEntries(Object.entries(meta).filter(([key]) => isPassed(key))) as JsonObject;
}
