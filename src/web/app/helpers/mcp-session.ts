import {
  type CallToolResult,
  type GetPromptResult,
  type ReadResourceResult,
  type RequestMethod,
  type ResultTypeMap,
  SdkHttpError,
} from '@modelcontextprotocol/client';
import type { JsonObject } from '../../../contract/json.ts';
import { META } from '../../../contract/names.ts';
import {
  connectMcp,
  type McpConnection,
  type OnProgress,
  type RequestParams,
} from '../../../environment/mcp-client/connection.ts';
import { HttpTransport } from '../../../environment/mcp-client/http-transport.ts';
import { type Link, toLink } from '../../../environment/mcp-client/link.ts';
import { type ListKind, readList } from '../../../environment/mcp-client/reading.ts';

/** Every request of a person at a page is an agent's, but for setup and evaluation. */
const AS_AGENT = { [META.audience]: 'agent' };

export interface LogLine {
  readonly level: string;
  readonly logger: string;
  readonly text: string;
}

export interface AskOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: OnProgress;
}

/** The prompt or template whose argument is completed. */
export type Reference =
  | { readonly type: 'ref/prompt'; readonly name: string }
  | { readonly type: 'ref/resource'; readonly uri: string };

interface Argument {
  readonly name: string;
  readonly value: string;
}

/** One session of the page at the MCP endpoint of its server. Whoever opened it closes it; leaving the page does, too. */
export class McpSession {
  /**
   * Opens a session: an agent's, or with a key that of a harness.
   *
   * @throws Error in the server's words; the reason of the signal.
   */
  static async open(endpoint: URL, { harnessKey, signal }: OpenOptions = {}): Promise<McpSession> {
    const link = openLink(endpoint);
    const listeners: Listeners = { change: new Set(), log: new Set() };
    try {
      const connection = await connectMcp(link, {
        clientInfo: { name: 'proctor-helpers-page', version: '1' },
        ...(harnessKey === undefined
          ? {}
          : { handshakeMeta: { [META.audience]: 'harness', [META.harnessKey]: harnessKey } }),
        onNotification: {
          listsChanged: () => {
            for (const listener of listeners.change) listener();
          },
          log: (level, text, logger = '') => {
            for (const listener of listeners.log) listener({ level, logger, text });
          },
        },
        signal,
      });
      return new McpSession(connection, listeners);
    } catch (error) {
      void link.close();
      throw toPlainError(error);
    }
  }

  /** Another for each session; it says nothing to the server. */
  readonly id: string = crypto.randomUUID();
  readonly #connection: McpConnection;
  readonly #listeners: Listeners;

  private constructor(connection: McpConnection, listeners: Listeners) {
    this.#connection = connection;
    this.#listeners = listeners;
  }

  get server(): { readonly name: string; readonly version: string } {
    return this.#connection.server ?? { name: '', version: '' };
  }

  get instructions(): string {
    return this.#connection.instructions;
  }

  /** Calls back when a list of the server has changed. Returns the way to stop. */
  onChange(listener: () => void): () => void {
    this.#listeners.change.add(listener);
    return () => void this.#listeners.change.delete(listener);
  }

  /** Calls back with what the server logs. Returns the way to stop. */
  onLog(listener: (line: LogLine) => void): () => void {
    this.#listeners.log.add(listener);
    return () => void this.#listeners.log.delete(listener);
  }

  tools(signal: AbortSignal) {
    return this.#list('tools', signal);
  }

  resources(signal: AbortSignal) {
    return this.#list('resources', signal);
  }

  resourceTemplates(signal: AbortSignal) {
    return this.#list('resourceTemplates', signal);
  }

  prompts(signal: AbortSignal) {
    return this.#list('prompts', signal);
  }

  /** True where the session was opened with the harness key of the server: an agent is not shown the setup. */
  async isHarness(signal: AbortSignal): Promise<boolean> {
    const { tools } = await this.#ask('tools/list', {}, { signal });
    return tools.some(({ name }) => name === 'setup');
  }

  callTool(name: string, args: JsonObject, options: AskOptions): Promise<CallToolResult> {
    return this.#ask('tools/call', { name, arguments: args, _meta: AS_AGENT }, options);
  }

  /** Calls a function that is the harness's, which this session has to be. */
  callHarness(hub: 'setup' | 'evaluate', name: string, args: JsonObject, options: AskOptions): Promise<CallToolResult> {
    return this.#ask('tools/call', { name: hub, arguments: { name, arguments: args } }, options);
  }

  readResource(uri: string, options: AskOptions): Promise<ReadResourceResult> {
    return this.#ask('resources/read', { uri, _meta: AS_AGENT }, options);
  }

  getPrompt(name: string, args: Readonly<Record<string, string>>, options: AskOptions): Promise<GetPromptResult> {
    return this.#ask('prompts/get', { name, arguments: args, _meta: AS_AGENT }, options);
  }

  /** Values that an argument can have; none where the server suggests none. */
  async complete(ref: Reference, argument: Argument, signal: AbortSignal): Promise<readonly string[]> {
    if (this.#connection.capabilities.completions === undefined) return [];
    return (await this.#ask('completion/complete', { ref, argument, _meta: AS_AGENT }, { signal })).completion.values;
  }

  /** Ends the session here and at the server. Never rejects. */
  close(): void {
    void this.#connection.close();
  }

  async #list<Kind extends ListKind>(kind: Kind, signal: AbortSignal) {
    const toError = (words: string) => new Error(`The server ${words}`);
    try {
      return await readList(this.#connection, kind, { params: { _meta: AS_AGENT }, signal, toError });
    } catch (error) {
      throw toPlainError(error);
    }
  }

  async #ask<Method extends RequestMethod>(
    method: Method,
    params: RequestParams,
    options: AskOptions,
  ): Promise<ResultTypeMap[Method]> {
    try {
      return await this.#connection.request(method, params, options);
    } catch (error) {
      throw toPlainError(error);
    }
  }
}

interface Listeners {
  readonly change: Set<() => void>;
  readonly log: Set<(line: LogLine) => void>;
}

interface OpenOptions {
  readonly harnessKey?: string | undefined;
  readonly signal?: AbortSignal;
}

const OPEN = new Set<Link>();
addEventListener('pagehide', () => {
  for (const link of [...OPEN]) void link.close();
});

function openLink(endpoint: URL): Link {
  // A session that is ended while the page is left is ended all the same.
  const fetchEvenAtTheEnd = (url: string | URL, init?: RequestInit) =>
    fetch(url, { ...init, keepalive: init?.method === 'DELETE' });
  const transport = new HttpTransport(endpoint, { fetch: fetchEvenAtTheEnd });
  const link = toLink(transport, async () => {
    OPEN.delete(link);
    await transport.terminateSession().catch(() => {});
    await transport.close();
  });
  OPEN.add(link);
  return link;
}

/** In the server's words: the SDK puts its own before the body of a reply that is no success. */
function toPlainError(error: unknown): unknown {
  if (!(error instanceof SdkHttpError)) return error;
  if (error.status === 404) return new Error('The session has ended: start a new one.', { cause: error });
  const message = /"message":("(?:[^"\\]|\\.)*")/.exec(error.message)?.[1];
  return message === undefined ? error : new Error(JSON.parse(message), { cause: error });
}
