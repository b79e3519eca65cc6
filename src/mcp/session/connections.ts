import type { ClientOffer, EnvironmentDefinition } from '../../environment/definition.ts';
import { isHarnessHub } from '../../environment/names.ts';
import { preview } from '../../schema/json-schema.ts';
import type { ConnectedServer } from '../../upstream/connected-server.ts';
import type { UpstreamCatalogue } from '../../upstream/upstream-catalogue.ts';
import type { Report } from '../cleanup.ts';
import type { ConnectedSource } from './connected-source.ts';
import type { SessionPrompt } from './prompts.ts';
import type { SessionResource } from './resources.ts';
import type { SessionChanges } from './session-changes.ts';
import type { SessionTool } from './session-tools.ts';

/** Environments that may be connected to each other in a row: more is one that is connected to itself. */
const MAX_DEPTH = 4;

/** The entries that a session serves, by name and by URI. */
export interface SessionEntries {
  readonly tools: Map<string, SessionTool>;
  readonly resources: Map<string, SessionResource>;
  readonly prompts: Map<string, SessionPrompt>;
}

export interface ConnectionsParts {
  readonly report: Report;
  readonly openServer: (server: unknown) => Promise<ConnectedSource>;
  readonly changes: SessionChanges;
}

/** The session's own client, as far as the servers have to know it. */
export interface ConnectingPeer {
  /** Capabilities, for servers that want to ask it something. */
  readonly offer: ClientOffer;
  /** Environments before this one, each connected to the next. */
  readonly connectionDepth: number;
}

/** The servers that an environment is connected to, in one session. Whoever made it closes it. */
export class SessionConnections {
  /** Called when what the servers give is there, and when it is different (`isNews`). */
  onchange: ((isNews: boolean) => void) | undefined;

  readonly #definitions: EnvironmentDefinition['connections'];
  readonly #parts: ConnectionsParts;
  #servers: readonly ConnectedServer[] = [];
  /** Makes entries of the session; there as soon as there are servers. */
  #toEntries: typeof import('./connected-entries.ts') | undefined;
  /** Catalogues of the open servers. */
  readonly #catalogues = new Map<ConnectedServer, UpstreamCatalogue>();
  /** Names that are left out and of which the log knows. */
  readonly #told = new Set<string>();
  #capabilities: ClientOffer = { elicitation: false, sampling: false, roots: false };
  #depth = 0;
  #opening: Promise<void> | undefined;
  #isOpen: boolean;
  #hasBegun = false;
  #isClosed = false;

  constructor(definitions: EnvironmentDefinition['connections'], parts: ConnectionsParts) {
    this.#definitions = definitions;
    this.#parts = parts;
    this.#isOpen = definitions.size === 0;
  }

  /** True once something of the author's may have been made for this session. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** True when there is nothing to open, or it is open. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * Connects to every server, once; whoever comes meanwhile waits. After a failure nothing is left, and the next call
   * tries again.
   *
   * @param own what the author has declared: no name of a server may be one of these.
   * @throws Error for the developer: which server, and why; or which names are taken.
   */
  async open(peer: ConnectingPeer, own: () => SessionEntries): Promise<void> {
    if (this.#isOpen) return;
    this.#hasBegun = true;
    this.#capabilities = peer.offer;
    this.#depth = peer.connectionDepth;
    this.#opening ??= this.#open(own).finally(() => {
      this.#opening = undefined;
    });
    await this.#opening;
  }

  /**
   * Adds what is connected to what the author has declared. A name that is taken, which once it is open cannot end the
   * session any more, is left out, and the log told.
   */
  addTo(entries: SessionEntries): void {
    for (const problem of this.#add(entries)) {
      if (this.#told.has(problem)) continue;
      this.#told.add(problem);
      this.#parts.report(`${problem}. It is left out`);
    }
  }

  /** Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#servers.map((server) => server.close()));
  }

  async #open(own: () => SessionEntries): Promise<void> {
    try {
      if (this.#servers.length === 0) this.#servers = await this.#createServers();
      if (this.#isClosed) throw new Error('The session is over');
      if (this.#depth >= MAX_DEPTH) throw new Error(TOO_DEEP);
      const opened = await Promise.allSettled(this.#servers.map((server) => server.open()));
      const failures = opened.flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []));
      if (failures.length > 0) throw toOneError(failures);
      for (const [index, server] of this.#servers.entries()) {
        const result = opened[index];
        if (result?.status === 'fulfilled') this.#catalogues.set(server, result.value);
      }
      const problems = this.#add(own());
      if (problems.length > 0) throw new Error(problems.join('\n'));
      this.#isOpen = true;
      this.onchange?.(false);
    } catch (error) {
      this.#catalogues.clear();
      await Promise.all(this.#servers.map((server) => server.disconnect()));
      throw error;
    }
  }

  async #createServers(): Promise<readonly ConnectedServer[]> {
    // With it comes the client side of MCP, which most environments have no use for: they start faster without.
    const { ConnectedServer } = await import('../../upstream/connected-server.ts');
    this.#toEntries = await import('./connected-entries.ts');
    const { report, openServer, changes } = this.#parts;
    return [...this.#definitions.values()].map((definition) => {
      const server: ConnectedServer = new ConnectedServer(definition, {
        openServer,
        capabilities: () => this.#capabilities,
        depth: () => this.#depth + 1,
        report,
        onCatalogue: (catalogue) => this.#replace(server, catalogue),
        onResourceUpdated: (uri) => {
          if (this.#isOpen) changes.emit({ kind: 'resource', uri, audience: definition.audience });
        },
      });
      return server;
    });
  }

  #replace(server: ConnectedServer, catalogue: UpstreamCatalogue): void {
    // While the others are still being opened, this one's lists may change already.
    if (this.#isClosed || !this.#catalogues.has(server)) return;
    this.#catalogues.set(server, catalogue);
    this.onchange?.(true);
  }

  /** Adds what is free, and says what is not. */
  #add({ tools, resources, prompts }: SessionEntries): string[] {
    const problems: string[] = [];
    if (this.#toEntries === undefined) return problems;
    const { toConnectedTool, toConnectedResource, toConnectedPrompt } = this.#toEntries;
    const put = <Entry>(all: Map<string, Entry>, name: string, entry: Entry, collision: () => string) => {
      if (all.has(name)) problems.push(collision());
      else all.set(name, entry);
    };
    for (const [server, catalogue] of this.#catalogues) {
      for (const tool of catalogue.tools) {
        const { name } = tool.entry;
        const collision = () => describeCollision(server, 'tool', name);
        if (isHarnessHub(name)) problems.push(collision());
        else put(tools, name, toConnectedTool(server, tool), collision);
      }
      for (const resource of [...catalogue.resources, ...catalogue.templates]) {
        const uri = resource.original;
        put(resources, uri, toConnectedResource(server, resource), () => describeCollision(server, 'resource', uri));
      }
      for (const prompt of catalogue.prompts) {
        const { name } = prompt.entry;
        put(prompts, name, toConnectedPrompt(server, prompt), () => describeCollision(server, 'prompt', name));
      }
    }
    return problems;
  }
}

const TOO_DEEP = `Environments are connected to each other more than ${MAX_DEPTH} deep: is one connected to itself? It would never end`;

function toOneError(failures: readonly Error[]): Error {
  const [only] = failures;
  if (failures.length === 1 && only !== undefined) return only;
  return new AggregateError(failures, failures.map(({ message }) => message).join('\n'));
}

function describeCollision(
  { label, definition }: ConnectedServer,
  kind: 'tool' | 'resource' | 'prompt',
  name: string,
): string {
  const prefix = `give it ${definition.prefix === undefined ? 'a' : 'another'} prefix`;
  const remedy = { tool: `${prefix}, or exclude the tool`, resource: 'rename the other one', prompt: prefix }[kind];
  return `${label} has the ${kind} ${preview(name)}, a name that is taken in this environment: ${remedy}`;
}
