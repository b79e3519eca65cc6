import type {
  CallToolResult,
  CompleteResult,
  GetPromptResult,
  ReadResourceResult,
  RequestMethod,
} from '@modelcontextprotocol/client';
import type { JsonObject } from '../contract/json.ts';
import { META } from '../contract/names.ts';
import type { ConnectionDefinition } from '../environment/connection.ts';
import type { ClientOffer, ToolContext } from '../environment/definition.ts';
import {
  connectMcp,
  LOG_LEVELS,
  type McpConnection,
  type OnProgress,
  type RequestParams,
} from '../mcp-client/connection.ts';
import type { Link } from '../mcp-client/link.ts';
import { PROCTOR_VERSION } from '../runtime/version.ts';
import { answerElicitation, answerSampling } from './client-answers.ts';
import { isReservedKey } from './reserved-meta.ts';
import { readCatalogue, type UpstreamCatalogue } from './upstream-catalogue.ts';

export interface UpstreamClientParts {
  readonly definition: ConnectionDefinition;
  readonly link: Link;
  /** The capabilities of the environment's client. The connected server is told those that can be passed through. */
  readonly capabilities: ClientOffer;
  /** How many environments are connected to each other up to this server, with ours. */
  readonly depth: number;
  /** Takes what goes to the log of the environment, in words that continue the name of the server. */
  readonly report: (text: string) => void;
}

/** A server that does not answer a subscription is left alone. */
const SUBSCRIBE_TIMEOUT_MS = 60_000;

/** Events of a connected server. */
export interface UpstreamEvents {
  onListsChanged?: () => void;
  onResourceUpdated?: (uri: string) => void;
  /** Once, when the connection is over for whatever reason. */
  onclose?: () => void;
}

/** One connection to a server, from its handshake to its end. Whoever opened it closes it. */
export class UpstreamClient {
  /** @throws Error of whatever kind when there is no connection; the reason of the signal. */
  static async connect(parts: UpstreamClientParts, signal: AbortSignal): Promise<UpstreamClient> {
    const { capabilities, depth, link, report } = parts;
    const requests = new OpenRequests();
    const events: UpstreamEvents = {};
    const connection = await connectMcp(link, {
      clientInfo: { name: 'proctor', version: PROCTOR_VERSION },
      signal,
      // An environment that is connected to itself would open connections without end: each learns how deep it is.
      handshakeMeta: { [META.connectionDepth]: depth },
      // Not its roots: they are folders of the client, and servers let them replace the folders that the author gave.
      answers: {
        ...(capabilities.elicitation ? { elicit: (params) => answerElicitation(params, requests.latest) } : {}),
        ...(capabilities.sampling ? { sample: (params) => answerSampling(params, requests.latest) } : {}),
      },
      onNotification: {
        log: (level, text) => {
          if (requests.latest === undefined) report(`said (${level}): ${text}`);
          else requests.latest.log[LOG_LEVELS[level]](text);
        },
        listsChanged: () => events.onListsChanged?.(),
        resourceUpdated: (uri) => events.onResourceUpdated?.(uri),
      },
    });
    connection.onclose = () => events.onclose?.();
    return new UpstreamClient(parts, connection, requests, events);
  }

  readonly events: UpstreamEvents;
  readonly #parts: UpstreamClientParts;
  readonly #connection: McpConnection;
  readonly #requests: OpenRequests;

  private constructor(
    parts: UpstreamClientParts,
    connection: McpConnection,
    requests: OpenRequests,
    events: UpstreamEvents,
  ) {
    this.#parts = parts;
    this.#connection = connection;
    this.#requests = requests;
    this.events = events;
  }

  catalogue(signal: AbortSignal): Promise<UpstreamCatalogue> {
    const { definition, report } = this.#parts;
    return readCatalogue(this.#connection, definition, { signal, report });
  }

  /** True where clients can be told that a resource has changed. */
  get takesSubscriptions(): boolean {
    return this.#connection.capabilities.resources?.subscribe === true;
  }

  /** @param name as the server knows it, as everywhere below. */
  callTool(name: string, args: JsonObject, context: ToolContext): Promise<CallToolResult> {
    return this.#request('tools/call', { name, arguments: args }, context);
  }

  readResource(uri: string, context: ToolContext): Promise<ReadResourceResult> {
    return this.#request('resources/read', { uri }, context);
  }

  getPrompt(name: string, args: Readonly<Record<string, string>>, context: ToolContext): Promise<GetPromptResult> {
    return this.#request('prompts/get', { name, arguments: { ...args } }, context);
  }

  /** Completions of an argument; empty if the server has no completion. */
  async complete(params: CompletionParams, signal: AbortSignal): Promise<CompleteResult['completion']> {
    if (this.#connection.capabilities.completions === undefined) return { values: [] };
    return (await this.#connection.request('completion/complete', { ...params }, { signal })).completion;
  }

  async subscribe(uri: string): Promise<void> {
    await this.#connection.request('resources/subscribe', { uri }, { timeoutMs: SUBSCRIBE_TIMEOUT_MS });
  }

  /** Never rejects. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  #request<Method extends RequestMethod>(method: Method, params: RequestParams, context: ToolContext) {
    const { meta, signal } = context;
    const onProgress = meta.progressToken === undefined ? undefined : toProgressListener(context);
    return this.#requests.during(context, () =>
      this.#connection.request(method, { ...params, _meta: passedMeta(meta) }, { signal, onProgress }),
    );
  }
}

/** The requests of the environment that wait for the server. MCP does not say which one a question or a log line belongs to. */
class OpenRequests {
  readonly #contexts = new Set<{ readonly context: ToolContext }>();

  get latest(): ToolContext | undefined {
    return [...this.#contexts].at(-1)?.context;
  }

  async during<Result>(context: ToolContext, send: () => Promise<Result>): Promise<Result> {
    // One context may have several requests.
    const request = { context };
    this.#contexts.add(request);
    try {
      return await send();
    } finally {
      this.#contexts.delete(request);
    }
  }
}

function toProgressListener(context: ToolContext): OnProgress {
  return ({ progress, total: given, message }) => {
    const [total, text] = [given ?? undefined, message ?? undefined];
    // Progress here is integers: a share of 1, or of anything small, would be lost.
    if (total === undefined || total <= 0 || (Number.isInteger(progress) && Number.isInteger(total) && total > 1)) {
      context.progress(progress, total, text);
    } else {
      context.progress((progress / total) * 100, 100, text);
    }
  };
}

export interface CompletionParams {
  readonly ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string };
  readonly argument: { name: string; value: string };
  readonly context?: { arguments?: Record<string, string> };
}

/** The client's `_meta` without the entries for Proctor and for its own connection. */
function passedMeta(meta: Readonly<Record<string, unknown>>): JsonObject {
  const isPassed = (key: string) =>
    !isReservedKey(key) && key !== 'progressToken' && !key.startsWith('io.modelcontextprotocol/');
  return Object.fromEntries(Object.entries(meta).filter(([key]) => isPassed(key))) as JsonObject;
}
