import type { Transport } from '@modelcontextprotocol/server';
import { isJsonObject, type JsonObject } from '../../../contract/json.ts';
import { SCENARIOS_URI } from '../../../contract/names.ts';
import { PROCTOR_VERSION } from '../../../support/runtime/version.ts';
import { createLinkedTransports } from '../linked-transports.ts';
import { MODERN_REVISION } from '../session/session-server.ts';
import type { SessionHost } from '../session-host.ts';

/** Milliseconds to wait for an answer of the environment. */
const ANSWER_TIMEOUT_MS = 10_000;

/** The lists that an environment shows to an agent, in MCP's format. */
export interface AgentView {
  readonly tools: readonly JsonObject[];
  readonly resources: readonly JsonObject[];
  readonly prompts: readonly JsonObject[];
  readonly scenarios: readonly JsonObject[];
}

/**
 * Reads lists that an environment shows to an agent. It uses MCP in a new session without a key, so it gets nothing
 * that an agent does not get, and no initialize hook runs.
 *
 * @throws Error if the environment does not answer.
 */
export async function readAgentView<Part extends keyof AgentView>(
  host: SessionHost,
  parts: readonly Part[],
): Promise<Pick<AgentView, Part>> {
  // Loaded here: most servers never need the client side of MCP and start faster without it.
  const [{ connectMcp }, { jsonOf, readList }, { toLink }] = await Promise.all([
    import('../../mcp-client/connection.ts'),
    import('../../mcp-client/reading.ts'),
    import('../../mcp-client/link.ts'),
  ]);
  const session = host.openSession('modern');
  const [transport, serverTransport]: readonly [Transport, Transport] = createLinkedTransports();
  const link = toLink(transport, () => transport.close());
  try {
    await session.connect(serverTransport);
    const receive = serverTransport.onmessage;
    const classification = { era: 'modern', revision: MODERN_REVISION } as const;
    serverTransport.onmessage = (message) => receive?.(message, { classification });
    const options = { timeoutMs: ANSWER_TIMEOUT_MS };
    const clientInfo = { name: 'proctor-helpers', version: PROCTOR_VERSION };
    const agent = await connectMcp(link, { ...options, clientInfo, skipsHandshake: true });
    const toError = (words: string) => new Error(`The environment ${words}`);
    const read = parts.map(async (part): Promise<[Part, readonly JsonObject[]]> => {
      const entries: readonly unknown[] =
        part === 'scenarios'
          ? toScenarios(jsonOf(await agent.request('resources/read', { uri: SCENARIOS_URI }, options)))
          : await readList(agent, part, { ...options, toError });
      return [part, entries.filter(isJsonObject)];
    });
    return Object.fromEntries(await Promise.all(read)) as Pick<AgentView, Part>;
  } finally {
    void session.close();
    void link.close();
  }
}

/** The scenarios in the list. Empty if the environment has no such list. */
function toScenarios(list: unknown): readonly unknown[] {
  return isJsonObject(list) && Array.isArray(list.scenarios) ? list.scenarios : [];
}
