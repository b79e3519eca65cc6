import {
  Client,
  type CreateMessageRequestParams,
  type CreateMessageResult,
  type ElicitRequestParams,
  type ElicitResult,
  type Implementation,
  isSpecType,
  type JSONRPCNotification,
  type LoggingLevel,
  type RequestMethod,
  type ResultTypeMap,
  type ServerCapabilities,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { JsonObject } from '../../contract/json.ts';
import { isTooDeep } from '../../contract/json-depth.ts';
import type { LogRecord } from '../../contract/service/trace.ts';
import { LONGEST_TIMER_MS, withDeadline } from '../../support/runtime/deadline.ts';
import type { Link } from './link.ts';

/** The log level of a trace for each log level of MCP. */
export const LOG_LEVELS: Readonly<Record<LoggingLevel, LogRecord['level']>> = {
  debug: 'debug',
  info: 'info',
  notice: 'info',
  warning: 'warning',
  error: 'error',
  critical: 'error',
  alert: 'error',
  emergency: 'error',
};

/** The MCP revision that has no handshake and no sessions. */
export const REVISION_WITHOUT_HANDSHAKE = '2026-07-28';

export interface McpConnectOptions {
  /** The name and version that are sent to the server. */
  readonly clientInfo: Implementation;
  /** True uses the revision without a handshake. Default false: `initialize`, which every server supports. */
  readonly skipsHandshake?: boolean;
  /** `_meta` of the `initialize` request only. */
  readonly handshakeMeta?: JsonObject;
  /**
   * Functions that answer questions of the server. The server is told only the capabilities that have a function here.
   */
  readonly answers?: ClientAnswers;
  readonly onNotification?: NotificationListeners;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for the handshake. Default: no limit except the signal. */
  readonly timeoutMs?: number | undefined;
}

export interface ClientAnswers {
  readonly elicit?: (params: ElicitRequestParams) => Promise<ElicitResult>;
  /** The signal is aborted if the server cancels its question, and if the connection is closed. */
  readonly sample?: (params: CreateMessageRequestParams, signal: AbortSignal) => Promise<CreateMessageResult>;
}

/** Listeners that are called when a notification arrives, so before the answer that follows it. */
export interface NotificationListeners {
  readonly log?: (level: LoggingLevel, text: string, logger: string | undefined) => void;
  readonly listsChanged?: () => void;
  readonly resourceUpdated?: (uri: string) => void;
}

export interface RequestParams {
  readonly _meta?: Readonly<Record<string, unknown>>;
  readonly [name: string]: unknown;
}

export type OnProgress = (progress: {
  readonly progress: number;
  readonly total: number | null;
  readonly message: string | null;
}) => void;

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds. Default: no limit except the signal. */
  readonly timeoutMs?: number | undefined;
  readonly onProgress?: OnProgress | undefined;
}

/**
 * Connects to the MCP server at the other end of a link. All MCP clients are made here. If this rejects, the caller has
 * to close the link; otherwise it has to close the connection.
 *
 * @throws DeadlineError after `timeoutMs`; the reason of the signal; an error of the SDK or of the transport.
 */
export async function connectMcp(link: Link, options: McpConnectOptions): Promise<McpConnection> {
  const { signal, timeoutMs, onNotification = {} } = options;
  const progress = new ProgressListeners();
  const client = new ListeningClient(options, (notification) => {
    progress.hear(notification);
    dispatch(notification, onNotification);
  });
  const connecting = (own: AbortSignal) => client.connect(link.transport, { signal: own, timeout: LONGEST_TIMER_MS });
  await withDeadline(connecting, { signal, ms: timeoutMs });
  return new McpConnection(client, link, progress);
}

/** An MCP connection after its handshake. It owns its link and closes it. */
export class McpConnection {
  readonly link: Link;
  /** The name and version of the server. Undefined if the server did not send them. */
  readonly server: { readonly name: string; readonly version: string } | undefined;
  readonly capabilities: ServerCapabilities;
  /** The protocol revision in use. */
  readonly protocol: string;
  /** Instructions of the server, or an empty text. */
  readonly instructions: string;
  /**
   * `_meta` of the server's answer to the handshake (to `server/discover` on the revision without one), or an empty
   * object.
   */
  readonly handshakeMeta: JsonObject;
  readonly #client: Client;
  readonly #progress: ProgressListeners;

  constructor(client: ListeningClient, link: Link, progress: ProgressListeners) {
    this.link = link;
    this.server = client.getServerVersion();
    this.capabilities = client.getServerCapabilities() ?? {};
    this.protocol = client.getNegotiatedProtocolVersion() ?? '';
    this.instructions = client.getInstructions() ?? '';
    this.handshakeMeta = client.metaOfServer ?? {};
    this.#client = client;
    this.#progress = progress;
  }

  /** Called once, when the connection ends for any reason. */
  set onclose(listener: () => void) {
    this.#client.onclose = listener;
  }

  /**
   * @throws ProtocolError that the server answered; SdkError with the reason of an aborted signal; other errors of the
   *   SDK.
   */
  request<Method extends RequestMethod>(
    method: Method,
    params: RequestParams,
    { signal, timeoutMs = LONGEST_TIMER_MS, onProgress }: RequestOptions = {},
  ): Promise<ResultTypeMap[Method]> {
    const settings = { timeout: timeoutMs, ...(signal === undefined ? {} : { signal }) };
    if (onProgress === undefined) return this.#client.request({ method, params }, settings);
    return this.#progress.listen(onProgress, (progressToken) =>
      this.#client.request({ method, params: { ...params, _meta: { ...params._meta, progressToken } } }, settings),
    );
  }

  /** Closes the connection and its link. Never rejects. */
  async close(): Promise<void> {
    // The link closes first, because it can end the server properly. The SDK's client would cut the connection at once.
    await this.link.close();
    await this.#client.close().catch(() => {});
  }
}

/**
 * The SDK's client with three changes. Two add `_meta` to the handshake and read `_meta` from its answer. The third
 * reports notifications at once: the SDK reports them after the answer that follows them, when their request is over.
 */
class ListeningClient extends Client {
  readonly #listen: (notification: JSONRPCNotification) => void;
  #handshakeMeta: JsonObject | undefined;
  /** `_meta` of the first answer. Undefined before that answer, and if it has no `_meta`. */
  #answerMeta: JsonObject | undefined;
  #hasAnswer = false;

  constructor(options: McpConnectOptions, listen: (notification: JSONRPCNotification) => void) {
    const { clientInfo, skipsHandshake = false, answers = {}, handshakeMeta } = options;
    const { elicit, sample } = answers;
    const capabilities = {
      ...(elicit === undefined ? {} : { elicitation: { form: {} } }),
      ...(sample === undefined ? {} : { sampling: {} }),
    };
    const mode = skipsHandshake ? { pin: REVISION_WITHOUT_HANDSHAKE } : 'legacy';
    super(clientInfo, { capabilities, versionNegotiation: { mode } });
    this.#listen = listen;
    this.#handshakeMeta = skipsHandshake ? undefined : handshakeMeta;
    if (elicit) this.setRequestHandler('elicitation/create', ({ params }) => elicit(params));
    if (sample) {
      this.setRequestHandler('sampling/createMessage', ({ params }, { mcpReq: { _meta = params._meta, signal } }) =>
        // On 2026-07-28 the SDK removes `_meta` from the parameters.
        sample(_meta === undefined ? params : { ...params, _meta }, signal),
      );
    }
  }

  /** `_meta` of the handshake's answer. The SDK keeps the answer to `server/discover` itself. */
  get metaOfServer(): JsonObject | undefined {
    return (this.getDiscoverResult()?._meta as JsonObject | undefined) ?? this.#answerMeta;
  }

  /** Adds `_meta` to the first message, which is `initialize`. */
  protected override _outboundMetaEnvelope(): Readonly<Record<string, unknown>> | undefined {
    const meta = this.#handshakeMeta;
    this.#handshakeMeta = undefined;
    return meta ?? super._outboundMetaEnvelope();
  }

  protected override _onresponse(...received: Parameters<Client['_onresponse']>): void {
    const [response] = received;
    const meta = 'result' in response ? response.result._meta : undefined;
    // The SDK has not checked the answer yet, so `_meta` may be any value.
    if (!this.#hasAnswer && typeof meta === 'object' && meta !== null) this.#answerMeta = meta as JsonObject;
    this.#hasAnswer = true;
    super._onresponse(...received);
  }

  protected override _onnotification(...received: Parameters<Client['_onnotification']>): void {
    this.#listen(received[0]);
    super._onnotification(...received);
  }
}

function dispatch(notification: JSONRPCNotification, listeners: NotificationListeners): void {
  switch (notification.method) {
    case 'notifications/message':
      // Data that is nested too deeply would overflow the stack when it is written as JSON.
      if (isSpecType.LoggingMessageNotification(notification) && !isTooDeep(notification)) {
        const { level, data, logger } = notification.params;
        listeners.log?.(level, typeof data === 'string' ? data : JSON.stringify(data), logger);
      }
      return;
    case 'notifications/resources/updated':
      if (isSpecType.ResourceUpdatedNotification(notification)) listeners.resourceUpdated?.(notification.params.uri);
      return;
    case 'notifications/tools/list_changed':
    case 'notifications/resources/list_changed':
    case 'notifications/prompts/list_changed':
      listeners.listsChanged?.();
  }
}

const progressSchema = z.object({
  method: z.literal('notifications/progress'),
  params: z.object({
    progressToken: z.string(),
    progress: z.number(),
    total: z.number().nullish(),
    message: z.string().nullish(),
  }),
});

/** Passes progress on to the request that it belongs to. */
class ProgressListeners {
  readonly #listeners = new Map<string, OnProgress>();
  #lastToken = 0;

  /** Listens under a new token until `send` settles. */
  async listen<Result>(onProgress: OnProgress, send: (token: string) => Promise<Result>): Promise<Result> {
    this.#lastToken += 1;
    const token = `call-${this.#lastToken}`;
    this.#listeners.set(token, onProgress);
    try {
      return await send(token);
    } finally {
      this.#listeners.delete(token);
    }
  }

  hear(notification: { readonly method: string }): void {
    if (notification.method !== 'notifications/progress') return;
    const parsed = progressSchema.safeParse(notification);
    if (!parsed.success) return;
    const { progressToken, progress, total = null, message = null } = parsed.data.params;
    this.#listeners.get(progressToken)?.({ progress, total, message });
  }
}
