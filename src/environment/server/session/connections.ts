import { preview } from '../../../support/schema/json-schema.ts';
import type { ClientOffer, EnvironmentDefinition } from '../../authoring/definition.ts';
import { isHarnessHub } from '../../authoring/names.ts';
import type { ConnectedServer } from '../../composition/connected-server.ts';
import type { UpstreamCatalogue } from '../../composition/upstream-catalogue.ts';
import type { Report } from '../cleanup.ts';
import type { ConnectedSource } from './connected-source.ts';
import type { SessionPrompt } from './prompts.ts';
import type { SessionResource } from './resources.ts';
import type { SessionChanges } from './session-changes.ts';
import type { SessionTool } from './session-tools.ts';

/** Maximum length of a chain of connected environments. A longer chain means that one is connected to itself. */
const MAX_DEPTH = 4;

/** The entries of a session, by name and by URI. */
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

/** The session's client, with the information that connected servers need. */
export interface ConnectingPeer {
  /** The client's capabilities, for servers that ask it something. */
  readonly offer: ClientOffer;
  /** Number of environments before this one in the chain of connections. */
  readonly connectionDepth: number;
}

/** The servers that an environment is connected to, in one session. The caller that makes it has to close it. */
export class SessionConnections {
  /** Called when the servers' entries are loaded, and when they have changed (`isNews`). */
  onchange: ((isNews: boolean) => void) | undefined;

  readonly #definitions: EnvironmentDefinition['connections'];
  readonly #parts: ConnectionsParts;
  #servers: readonly ConnectedServer[] = [];
  /** The module that makes entries of the session. Loaded with the first server. */
  #toEntries: typeof import('./connected-entries.ts') | undefined;
  /** The entries of each connected server. */
  readonly #catalogues = new Map<ConnectedServer, UpstreamCatalogue>();
  /** Problems with left-out names that the log already contains. */
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

  /** True if something may exist for this session that has to be closed. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** True if all servers are connected, or there are none. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * Connects to all servers once. Concurrent callers wait for the same attempt. After a failure everything is
   * disconnected, and the next call tries again.
   *
   * @param own returns the author's entries. A name of a server must not be among them.
   * @throws Error for the developer that names the server and the cause, or the names that are taken.
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
   * Adds the entries of connected servers to the author's entries. A name that is taken is left out and logged, because
   * an open session must not end for that.
   */
  addTo(entries: SessionEntries): void {
    for (const problem of this.#add(entries)) {
      if (this.#told.has(problem)) continue;
      this.#told.add(problem);
      this.#parts.report(`${problem}. It is left out`);
    }
  }

  /** Disconnects all servers. Never rejects. */
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
    // Loaded here with the client side of MCP: most environments do not need it and start faster without it.
    const { ConnectedServer } = await import('../../composition/connected-server.ts');
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
    // Ignores changes that arrive while other servers are still being connected.
    if (this.#isClosed || !this.#catalogues.has(server)) return;
    this.#catalogues.set(server, catalogue);
    this.onchange?.(true);
  }

  /** Adds entries with free names, and returns the problems with the others. */
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
