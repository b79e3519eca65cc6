import {
  type CallToolResult,
  Client,
  type GetPromptResult,
  type Progress,
  type ReadResourceResult,
  type RequestMethod,
  type ResultTypeMap,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import type { JsonObject } from '../../../contract/json.ts';
import { META } from '../../../contract/names.ts';
import { LONGEST_TIMER_MS } from '../../../runtime/longest-timer.ts';

/** Pages of one list. */
const MAX_PAGES = 100;
/** Every request of a person at a page is an agent's, but for setup and evaluation. */
const AS_AGENT = { [META.audience]: 'agent' };

export interface LogLine {
  readonly level: string;
  readonly logger: string;
  readonly text: string;
}

export interface AskOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
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
    const transport = new Transport(endpoint, harnessKey);
    const client = new Client(
      { name: 'proctor-helpers-page', version: '1' },
      { versionNegotiation: { mode: 'legacy' } },
    );
    const session = new McpSession(client, transport);
    try {
      await client.connect(transport, { timeout: LONGEST_TIMER_MS, ...(signal === undefined ? {} : { signal }) });
    } catch (error) {
      session.close();
      throw toPlainError(error);
    }
    return session;
  }

  readonly #changeListeners = new Set<() => void>();
  readonly #logListeners = new Set<(line: LogLine) => void>();
  /** Another for each session; it says nothing to the server. */
  readonly id: string = crypto.randomUUID();
  readonly #client: Client;
  readonly #transport: Transport;

  private constructor(client: Client, transport: Transport) {
    this.#client = client;
    this.#transport = transport;
    OPEN.add(this);
    client.onerror = () => {}; // A failure is reported by the request that fails.
    for (const list of ['tools', 'prompts', 'resources'] as const) {
      client.setNotificationHandler(`notifications/${list}/list_changed`, () => {
        for (const listener of this.#changeListeners) listener();
      });
    }
    client.setNotificationHandler('notifications/message', ({ params: { level, logger = '', data } }) => {
      const text = typeof data === 'string' ? data : JSON.stringify(data);
      for (const listener of this.#logListeners) listener({ level, logger, text });
    });
  }

  get server(): { readonly name: string; readonly version: string } {
    return this.#client.getServerVersion() ?? { name: '', version: '' };
  }

  get instructions(): string {
    return this.#client.getInstructions() ?? '';
  }

  /** Calls back when a list of the server has changed. Returns the way to stop. */
  onChange(listener: () => void): () => void {
    this.#changeListeners.add(listener);
    return () => void this.#changeListeners.delete(listener);
  }

  /** Calls back with what the server logs. Returns the way to stop. */
  onLog(listener: (line: LogLine) => void): () => void {
    this.#logListeners.add(listener);
    return () => void this.#logListeners.delete(listener);
  }

  tools(signal: AbortSignal) {
    return this.#list('tools', async (params) => {
      const { tools, nextCursor } = await this.#ask('tools/list', params, { signal });
      return { entries: tools, nextCursor };
    });
  }

  resources(signal: AbortSignal) {
    return this.#list('resources', async (params) => {
      const { resources, nextCursor } = await this.#ask('resources/list', params, { signal });
      return { entries: resources, nextCursor };
    });
  }

  resourceTemplates(signal: AbortSignal) {
    return this.#list('resources', async (params) => {
      const { resourceTemplates, nextCursor } = await this.#ask('resources/templates/list', params, { signal });
      return { entries: resourceTemplates, nextCursor };
    });
  }

  prompts(signal: AbortSignal) {
    return this.#list('prompts', async (params) => {
      const { prompts, nextCursor } = await this.#ask('prompts/list', params, { signal });
      return { entries: prompts, nextCursor };
    });
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
    if (this.#client.getServerCapabilities()?.completions === undefined) return [];
    return (await this.#ask('completion/complete', { ref, argument, _meta: AS_AGENT }, { signal })).completion.values;
  }

  /** Ends the session here and at the server. Never rejects. */
  close(): void {
    OPEN.delete(this);
    void this.#transport
      .terminateSession()
      .catch(() => {})
      .then(() => this.#client.close())
      .catch(() => {});
  }

  async #list<Entry>(kind: 'tools' | 'resources' | 'prompts', read: ReadPage<Entry>): Promise<readonly Entry[]> {
    const all: Entry[] = [];
    if (this.#client.getServerCapabilities()?.[kind] === undefined) return all;
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const { entries, nextCursor } = await read({ _meta: AS_AGENT, ...(cursor === undefined ? {} : { cursor }) });
      all.push(...entries);
      if (nextCursor === undefined) break;
      cursor = nextCursor;
    }
    return all;
  }

  async #ask<Method extends RequestMethod>(
    method: Method,
    params: Record<string, unknown>,
    { signal, onProgress }: AskOptions,
  ): Promise<ResultTypeMap[Method]> {
    const progress = onProgress === undefined ? {} : { onprogress: onProgress };
    try {
      return await this.#client.request({ method, params }, { signal, timeout: LONGEST_TIMER_MS, ...progress });
    } catch (error) {
      throw toPlainError(error);
    }
  }
}

type ReadPage<Entry> = (params: Record<string, unknown>) => Promise<{
  readonly entries: readonly Entry[];
  readonly nextCursor?: string | undefined;
}>;

interface OpenOptions {
  readonly harnessKey?: string | undefined;
  readonly signal?: AbortSignal;
}

const OPEN = new Set<McpSession>();
addEventListener('pagehide', () => {
  for (const session of [...OPEN]) session.close();
});

/** Shows the harness key in `initialize`, and there alone; a session that is ended while the page is left is ended all the same. */
class Transport extends StreamableHTTPClientTransport {
  readonly #harnessKey: string | undefined;

  constructor(endpoint: URL, harnessKey: string | undefined) {
    super(endpoint, { fetch: (url, init) => fetch(url, { ...init, keepalive: init?.method === 'DELETE' }) });
    this.#harnessKey = harnessKey;
  }

  override send(...[message, options]: Parameters<StreamableHTTPClientTransport['send']>): Promise<void> {
    const isHandshake = !Array.isArray(message) && 'method' in message && message.method === 'initialize';
    if (!isHandshake || this.#harnessKey === undefined) return super.send(message, options);
    const _meta = { ...message.params?._meta, [META.audience]: 'harness', [META.harnessKey]: this.#harnessKey };
    return super.send({ ...message, params: { ...message.params, _meta } }, options);
  }
}

/** In the server's words: the SDK puts its own before the body of a reply that is no success. */
function toPlainError(error: unknown): unknown {
  if (!(error instanceof SdkHttpError)) return error;
  if (error.status === 404) return new Error('The session has ended: start a new one.', { cause: error });
  const message = /"message":("(?:[^"\\]|\\.)*")/.exec(error.message)?.[1];
  return message === undefined ? error : new Error(JSON.parse(message), { cause: error });
}
