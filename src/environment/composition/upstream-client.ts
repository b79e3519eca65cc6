import type {
  CallToolResult,
  CompleteResult,
  GetPromptResult,
  ReadResourceResult,
  RequestMethod,
} from '@modelcontextprotocol/client';
import type { JsonObject } from '../../contract/json.ts';
import { META } from '../../contract/names.ts';
import { PROCTOR_VERSION } from '../../support/runtime/version.ts';
import type { ConnectionDefinition } from '../authoring/connection.ts';
import type { ClientOffer, ToolContext } from '../authoring/definition.ts';
import {
  connectMcp,
  LOG_LEVELS,
  type McpConnection,
  type OnProgress,
  type RequestParams,
} from '../mcp-client/connection.ts';
import type { Link } from '../mcp-client/link.ts';
import { answerElicitation, answerSampling } from './client-answers.ts';
import { isReservedKey } from './reserved-meta.ts';
import { readCatalogue, type UpstreamCatalogue } from './upstream-catalogue.ts';

export interface UpstreamClientParts {
  readonly definition: ConnectionDefinition;
  readonly link: Link;
  /** The capabilities of the environment's client. The connected server sees only those that can be passed on. */
  readonly capabilities: ClientOffer;
  /** The number of environments in the chain of connections that ends at this server, this environment included. */
  readonly depth: number;
  /** Writes to the log of the environment. The text continues a sentence that begins with the server's name. */
  readonly report: (text: string) => void;
}

/** Limit for the answer to a subscription. A server that does not answer is ignored. */
const SUBSCRIBE_TIMEOUT_MS = 60_000;

/** Events of a connected server. */
export interface UpstreamEvents {
  onListsChanged?: () => void;
  onResourceUpdated?: (uri: string) => void;
  /** Called once, when the connection ends for any reason. */
  onclose?: () => void;
}

/** One connection to a server, from its handshake to its end. The caller that opens it has to close it. */
export class UpstreamClient {
  /** @throws any error of the connection; the reason of the signal. */
  static async connect(parts: UpstreamClientParts, signal: AbortSignal): Promise<UpstreamClient> {
    const { capabilities, depth, link, report } = parts;
    const requests = new OpenRequests();
    const events: UpstreamEvents = {};
    const connection = await connectMcp(link, {
      clientInfo: { name: 'proctor', version: PROCTOR_VERSION },
      signal,
      // Each server learns its depth, because an environment that is connected to itself would open connections
      // endlessly.
      handshakeMeta: { [META.connectionDepth]: depth },
      // Roots are not passed on: they are folders of the client, and some servers would use them instead of the folders
      // that the author gave.
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

  /** True if the server can report changes of a resource. */
  get takesSubscriptions(): boolean {
    return this.#connection.capabilities.resources?.subscribe === true;
  }

  /** @param name is the tool's name at the server. */
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

  /** Closes the connection. Never rejects. */
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

/**
 * The requests of the environment that wait for the server. MCP does not say to which of them a question or a log line
 * belongs, so the latest one gets it.
 */
class OpenRequests {
  readonly #contexts = new Set<{ readonly context: ToolContext }>();

  get latest(): ToolContext | undefined {
    return [...this.#contexts].at(-1)?.context;
  }

  async during<Result>(context: ToolContext, send: () => Promise<Result>): Promise<Result> {
    // A new object for each request, because one context may have several requests.
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
    // Our progress values are integers. Fractions and small totals are converted to percent, so that rounding does not
    // lose them.
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

/** The client's `_meta` without Proctor's entries and without those about the client's own connection. */
function passedMeta(meta: Readonly<Record<string, unknown>>): JsonObject {
  const isPassed = (key: string) =>
    !isReservedKey(key) && key !== 'progressToken' && !key.startsWith('io.modelcontextprotocol/');
  return Object.fromEntries(Object.entries(meta).filter(([key]) => isPassed(key))) as JsonObject;
}
