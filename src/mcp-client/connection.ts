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
import type { JsonObject } from '../contract/json.ts';
import { isTooDeep } from '../contract/json-depth.ts';
import type { LogRecord } from '../contract/trace.ts';
import { LONGEST_TIMER_MS, withDeadline } from '../runtime/deadline.ts';
import type { Link } from './link.ts';

/** The levels of MCP as those of a trace. */
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

/** The revision without a handshake and without sessions. */
export const REVISION_WITHOUT_HANDSHAKE = '2026-07-28';

export interface McpConnectOptions {
  /** Name and version that the server is told. */
  readonly clientInfo: Implementation;
  /** Speaks the revision without a handshake. Default false: `initialize`, as every server knows it. */
  readonly skipsHandshake?: boolean;
  /** `_meta` of `initialize`, and of no other message. */
  readonly handshakeMeta?: JsonObject;
  /** Answers to questions of the server. It is told of those capabilities that have an answer here. */
  readonly answers?: ClientAnswers;
  readonly onNotification?: NotificationListeners;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for the handshake; no limit beside the signal by default. */
  readonly timeoutMs?: number | undefined;
}

export interface ClientAnswers {
  readonly elicit?: (params: ElicitRequestParams) => Promise<ElicitResult>;
  /** The signal is aborted when the server takes its question back, and when the connection is closed. */
  readonly sample?: (params: CreateMessageRequestParams, signal: AbortSignal) => Promise<CreateMessageResult>;
}

/** Each is called as the notification comes in, and so before the answer that follows it. */
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
  /** Milliseconds; no limit beside the signal by default. */
  readonly timeoutMs?: number | undefined;
  readonly onProgress?: OnProgress | undefined;
}

/**
 * Connects to the MCP server at the other end of a link: the only place where an MCP client is made. The caller closes
 * the link when it rejects, and the connection otherwise.
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

/** A connection whose handshake is done. It owns its link and closes it. */
export class McpConnection {
  readonly link: Link;
  /** Undefined where the server did not say it. */
  readonly server: { readonly name: string; readonly version: string } | undefined;
  readonly capabilities: ServerCapabilities;
  /** The revision that was agreed on. */
  readonly protocol: string;
  /** Instructions of the server; empty without any. */
  readonly instructions: string;
  /** `_meta` of the server's answer to the handshake; empty without any. */
  readonly handshakeMeta: JsonObject;
  readonly #client: Client;
  readonly #progress: ProgressListeners;

  constructor(client: ListeningClient, link: Link, progress: ProgressListeners) {
    this.link = link;
    this.server = client.getServerVersion();
    this.capabilities = client.getServerCapabilities() ?? {};
    this.protocol = client.getNegotiatedProtocolVersion() ?? '';
    this.instructions = client.getInstructions() ?? '';
    this.handshakeMeta = client.answerMeta ?? {};
    this.#client = client;
    this.#progress = progress;
  }

  /** Called once, when the connection is over for whatever reason. */
  set onclose(listener: () => void) {
    this.#client.onclose = listener;
  }

  /** @throws the SDK's error, `ProtocolError` for the server's; for an aborted signal an `SdkError` with its reason. */
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

  /** Never rejects. */
  async close(): Promise<void> {
    // The link first: it knows how to end the other side, and the SDK's client would cut it short.
    await this.link.close();
    await this.#client.close().catch(() => {});
  }
}

/**
 * The SDK's client with three seams. The SDK offers no place for `_meta` of the handshake, there and back. It hands notifications on later
 * than the answer that follows them, when the request that they belong to is over.
 */
class ListeningClient extends Client {
  readonly #listen: (notification: JSONRPCNotification) => void;
  #handshakeMeta: JsonObject | undefined;
  /** `_meta` of the first answer. Undefined before it, and without any. */
  answerMeta: JsonObject | undefined;
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
        // On 2026-07-28 the SDK leaves it out of the parameters.
        sample(_meta === undefined ? params : { ...params, _meta }, signal),
      );
    }
  }

  /** `_meta` of the next message. The first one is `initialize`. */
  protected override _outboundMetaEnvelope(): Readonly<Record<string, unknown>> | undefined {
    const meta = this.#handshakeMeta;
    this.#handshakeMeta = undefined;
    return meta ?? super._outboundMetaEnvelope();
  }

  protected override _onresponse(...received: Parameters<Client['_onresponse']>): void {
    const [response] = received;
    const meta = 'result' in response ? response.result._meta : undefined;
    // Unchecked until now: a server may say anything.
    if (!this.#hasAnswer && typeof meta === 'object' && meta !== null) this.answerMeta = meta as JsonObject;
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
      // Data without measure would exhaust the stack of whoever writes it.
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

/** Hands progress to the request that it is for. */
class ProgressListeners {
  readonly #listeners = new Map<string, OnProgress>();
  #lastToken = 0;

  /** Listens with a token of its own until `send` settles. */
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
