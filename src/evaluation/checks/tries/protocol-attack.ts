import { HARNESS_HUBS, META, tasksUri } from '../../../contract/names.ts';
import type { McpConnection } from '../../../environment/mcp-client/connection.ts';
import { harnessNames } from '../../../models/gateway/reference/forgeries.ts';

export interface ForgeTargets {
  /** Short names of scenarios. */
  readonly scenarios: readonly string[];
  /** Files that agents must not read, for resource templates. */
  readonly paths?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for each request. */
  readonly limitMs: number;
}

export interface Forged {
  /** Harness functions and data that answered, each with the request that reached it. */
  readonly reached: readonly string[];
  /** Texts that resources returned for paths. */
  readonly texts: readonly string[];
  readonly asked: number;
  /** Request that ended the connection or got no answer in time; undefined if all were answered. */
  readonly endedBy: string | undefined;
}

type Params = Readonly<Record<string, unknown>>;
type Method =
  | 'tools/call'
  | 'tools/list'
  | 'prompts/get'
  | 'prompts/list'
  | 'resources/read'
  | 'resources/list'
  | 'resources/templates/list'
  | 'resources/subscribe'
  | 'completion/complete'
  | 'initialize';

/** Attacks with an agent's own connection, which has neither declared itself a harness nor shown a key. */
export async function forgeConnection(connection: McpConnection, targets: ForgeTargets): Promise<Forged> {
  const forger = new ConnectionForger(connection, targets);
  await forger.run();
  return forger;
}

/** Declarations that an agent may make. */
const DECLARATIONS: readonly (Params | undefined)[] = [
  undefined,
  { [META.audience]: 'harness' },
  { [META.audience]: 'harness', [META.harnessKey]: '' },
  { [META.audience]: 'harness', [META.harnessKey]: `hk_${'A'.repeat(43)}` },
  { [META.audience]: ['harness'], [META.harnessKey]: true },
  { [META.audience]: 'harness', [META.sessionId]: '00000000-0000-4000-8000-000000000000' },
  JSON.parse(`{"__proto__":{"${META.audience}":"harness"},"constructor":{"prototype":{"${META.audience}":"harness"}}}`),
];

class ConnectionForger implements Forged {
  readonly reached: string[] = [];
  readonly texts: string[] = [];
  asked = 0;
  endedBy: string | undefined;
  #isClosed = false;
  readonly #connection: McpConnection;
  readonly #targets: ForgeTargets;
  readonly #listed = new Set<string>();

  constructor(connection: McpConnection, targets: ForgeTargets) {
    this.#connection = connection;
    this.#targets = targets;
    connection.onclose = () => {
      this.#isClosed = true;
    };
  }

  async run(): Promise<void> {
    for (const name of await this.#names()) this.#listed.add(name);
    for (const declaration of DECLARATIONS) await this.#tryAs(declaration);
    await this.#tryTemplates();
    await this.#tryStarted();
    if (this.endedBy === undefined) await this.#tryHandshake();
  }

  async #tryAs(declaration: Params | undefined): Promise<void> {
    const _meta = declaration === undefined ? {} : { _meta: declaration };
    const { scenarios } = this.#targets;
    const [scenario = 'none'] = scenarios;
    for (const name of harnessNames(scenario)) {
      const args = { name: scenario, arguments: {} };
      await this.#expectRefusal('tools/call', { name, arguments: args, ..._meta }, name);
    }
    for (const name of [...HARNESS_HUBS, ...scenarios.map((each) => `solution/${each}`)]) {
      await this.#expectRefusal('prompts/get', { name, ..._meta }, name);
      const argument = { name: 'name', value: '' };
      await this.#expectRefusal('completion/complete', { ref: { type: 'ref/prompt', name }, argument, ..._meta }, name);
    }
    for (const uri of harnessUris(scenarios)) {
      await this.#expectRefusal('resources/read', { uri, ..._meta }, uri);
      await this.#expectRefusal('resources/subscribe', { uri, ..._meta }, uri);
      const argument = { name: 'id', value: '' };
      await this.#expectRefusal('completion/complete', { ref: { type: 'ref/resource', uri }, argument, ..._meta }, uri);
    }
    if (declaration === undefined) return;
    const more = (await this.#names(_meta)).filter((name) => !this.#listed.has(name));
    if (more.length > 0) this.reached.push(`lists show ${more.join(', ')} to _meta ${JSON.stringify(declaration)}`);
  }

  /** Puts a path in place of each template variable. */
  async #tryTemplates(): Promise<void> {
    const listed = await this.#ask('resources/templates/list', {});
    const templates = listOf(listed, 'resourceTemplates').map(({ uriTemplate }) => String(uriTemplate));
    for (const template of templates) {
      for (const path of this.#targets.paths ?? []) {
        for (const text of [path, `../../../../../../../../../..${path}`, path.slice(1)]) {
          const uri = template.replace(/\{[^}]*\}/g, encodeURIComponent(text));
          const answer = await this.#ask('resources/read', { uri });
          if (answer !== undefined) this.texts.push(JSON.stringify(answer));
        }
      }
    }
  }

  /** Tries to evaluate a scenario that a prompt has started. Only a harness may do that. */
  async #tryStarted(): Promise<void> {
    for (const name of this.#targets.scenarios.slice(0, 2)) {
      await this.#ask('prompts/get', { name, arguments: {} });
      for (const hub of HARNESS_HUBS) {
        await this.#expectRefusal('tools/call', { name: hub, arguments: { name, arguments: { answer: '' } } }, hub);
      }
    }
  }

  /** Tries a second handshake, as a harness. */
  async #tryHandshake(): Promise<void> {
    const handshake = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'forger', version: '1' },
      _meta: { [META.audience]: 'harness' },
    };
    await this.#ask('initialize', handshake);
    // A server that ends this agent's connection after a second handshake has refused it without harm to others.
    this.endedBy = undefined;
    for (const hub of HARNESS_HUBS) {
      await this.#expectRefusal('tools/call', { name: hub, arguments: {} }, `${hub} after a second handshake`);
    }
  }

  async #names(params: Params = {}): Promise<readonly string[]> {
    const lists = [
      ['tools/list', 'tools'],
      ['prompts/list', 'prompts'],
      ['resources/list', 'resources'],
      ['resources/templates/list', 'resourceTemplates'],
    ] as const;
    const names: string[] = [];
    for (const [method, member] of lists) {
      for (const entry of listOf(await this.#ask(method, params), member)) {
        names.push(String(entry.uri ?? entry.uriTemplate ?? entry.name));
      }
    }
    return names;
  }

  async #expectRefusal(method: Method, params: Params, name: string): Promise<void> {
    if (this.#listed.has(name)) return;
    const answer = await this.#ask(method, params);
    if (answer === undefined || isEmptyCompletion(answer)) return;
    const { _meta } = params;
    this.reached.push(
      `${method} of ${JSON.stringify(name)}${_meta === undefined ? '' : ` with _meta ${JSON.stringify(_meta)}`}`,
    );
  }

  /** Sends a request. Returns undefined for a protocol or tool error, or if the connection has ended. */
  async #ask(method: Method, params: Params): Promise<Params | undefined> {
    const { signal, limitMs } = this.#targets;
    signal?.throwIfAborted();
    if (this.endedBy !== undefined) return undefined;
    this.asked += 1;
    const startedAt = performance.now();
    try {
      const answer = (await this.#connection.request(method, params, { signal, timeoutMs: limitMs })) as Params;
      return answer.isError === true ? undefined : answer;
    } catch {
      signal?.throwIfAborted();
      const isLate = performance.now() - startedAt >= limitMs;
      if (this.#isClosed || isLate) {
        const what = JSON.stringify(params.name ?? params.uri ?? params.ref ?? '');
        this.endedBy = `${method} of ${what} ${isLate ? `is not answered within ${limitMs / 1_000} s` : 'ends its process or its connection'}`;
      }
      return undefined;
    }
  }
}

function harnessUris(scenarios: readonly string[]): readonly string[] {
  const hubs = [...HARNESS_HUBS].flatMap((hub) => [`${hub}://functions`, `svc://${hub}`]);
  return [...hubs, ...scenarios.map(tasksUri), 'svc://tasks', 'svc://solutions', 'svc://'];
}

function listOf(answer: Params | undefined, member: string): readonly Params[] {
  const list = answer?.[member];
  return Array.isArray(list) ? list : [];
}

function isEmptyCompletion({ completion }: Params): boolean {
  return typeof completion === 'object' && completion !== null && listOf({ ...completion }, 'values').length === 0;
}
