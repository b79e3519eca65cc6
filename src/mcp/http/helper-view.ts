import type { JSONRPCMessage, MessageExtraInfo, Transport } from '@modelcontextprotocol/server';
import { isJsonObject, type JsonObject } from '../../contract/json.ts';
import { SCENARIOS_URI } from '../../contract/names.ts';
import { MODERN_REVISION } from '../session/session-server.ts';
import type { SessionHost } from '../session-host.ts';

/** How long an environment may take for a list. */
const ANSWER_TIMEOUT_MS = 10_000;
/** Pages of one list. */
const MAX_PAGES = 100;

/** The lists that an environment shows an agent, in MCP's spelling. */
export interface AgentView {
  readonly tools: readonly JsonObject[];
  readonly resources: readonly JsonObject[];
  readonly resourceTemplates: readonly JsonObject[];
  readonly prompts: readonly JsonObject[];
  readonly scenarios: readonly JsonObject[];
}

const LISTS = {
  tools: 'tools/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
  prompts: 'prompts/list',
} as const;

/**
 * Asks an environment for some of what it shows an agent: over MCP, in a session of its own, without a key. It cannot
 * show more than any agent gets, and nothing of it runs the initialize hook.
 *
 * @throws Error where the environment does not answer.
 */
export async function readAgentView<Part extends keyof AgentView>(
  host: SessionHost,
  parts: readonly Part[],
): Promise<Pick<AgentView, Part>> {
  const session = host.openSession('modern');
  const agent = new AgentEnd();
  try {
    await session.connect(agent);
    const read = parts.map(async (part): Promise<[Part, readonly JsonObject[]]> => {
      if (part === 'scenarios') return [part, await readScenarios(agent)];
      return [part, await readList(agent, part as keyof typeof LISTS)];
    });
    return Object.fromEntries(await Promise.all(read)) as Pick<AgentView, Part>;
  } finally {
    void session.close();
  }
}

async function readList(agent: AgentEnd, part: keyof typeof LISTS): Promise<JsonObject[]> {
  const found: JsonObject[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const result = await agent.ask(LISTS[part], cursor === undefined ? {} : { cursor });
    const entries = result[part];
    if (Array.isArray(entries)) found.push(...entries.filter(isJsonObject));
    if (typeof result.nextCursor !== 'string') break;
    cursor = result.nextCursor;
  }
  return found;
}

async function readScenarios(agent: AgentEnd): Promise<JsonObject[]> {
  const { contents } = await agent.ask('resources/read', { uri: SCENARIOS_URI });
  const [first] = Array.isArray(contents) ? contents : [];
  const text = isJsonObject(first) && typeof first.text === 'string' ? first.text : '{}';
  const { scenarios } = JSON.parse(text) as { readonly scenarios?: unknown };
  return Array.isArray(scenarios) ? scenarios.filter(isJsonObject) : [];
}

interface Waiting {
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: Error) => void;
}

/** The agent's end of a session in this process. */
class AgentEnd implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;
  readonly #waiting = new Map<string | number, Waiting>();
  #nextId = 1;

  async start(): Promise<void> {}

  async ask(method: string, params: JsonObject): Promise<JsonObject> {
    const id = this.#nextId++;
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': MODERN_REVISION,
      'io.modelcontextprotocol/clientInfo': { name: 'proctor-helpers', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<JsonObject>((resolve, reject) => {
        this.#waiting.set(id, { resolve, reject });
        timer = setTimeout(() => reject(new Error(`No answer to ${method}`)), ANSWER_TIMEOUT_MS);
        timer.unref();
        const classification = { era: 'modern', revision: MODERN_REVISION } as const;
        this.onmessage?.({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }, { classification });
      });
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if ('method' in message || message.id === undefined) return;
    const waiting = this.#waiting.get(message.id);
    // Messages are copied, as on a wire.
    if ('result' in message) waiting?.resolve(JSON.parse(JSON.stringify(message.result)));
    else waiting?.reject(new Error(message.error.message));
  }

  async close(): Promise<void> {
    for (const { reject } of this.#waiting.values()) reject(new Error('The session has ended'));
    this.onclose?.();
  }
}
