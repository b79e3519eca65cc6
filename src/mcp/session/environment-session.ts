import { randomUUID } from 'node:crypto';
import {
  CLIENT_INFO_META_KEY,
  mergeCapabilities,
  type ServerContext,
  type Transport,
} from '@modelcontextprotocol/server';
import { messageOf } from '../../contract/errors.ts';
import { META, SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import type { ClientOffer, EnvironmentDefinition, Session } from '../../environment/definition.ts';
import { type HarnessAuthority, isHarness, type Meta } from '../audience.ts';
import { type Report, runCleanup } from '../cleanup.ts';
import type { Era, HostedSession } from '../session-host.ts';
import { ActiveScenario } from './active-scenario.ts';
import { bindEnvironment } from './bind-environment.ts';
import type { ConnectedSource } from './connected-source.ts';
import { SessionConnections } from './connections.ts';
import { describeConnectionError } from './failures.ts';
import { Initialization, refusedInitialization } from './initialize.ts';
import { InputRequired } from './input-required.ts';
import { type EnvironmentRequest, envelopeOf, openRequest } from './request.ts';
import { RunningSolution } from './running-solution.ts';
import { SessionCatalogue } from './session-catalogue.ts';
import { isNewsFor, type SessionChange, SessionChanges } from './session-changes.ts';
import { MODERN_REVISION, negotiatedRevision, SESSION_REVISIONS, SessionServer } from './session-server.ts';
import { listTools } from './session-tools.ts';
import { Subscriptions, sendChange } from './subscriptions.ts';

export interface SessionOptions {
  readonly id: string;
  readonly era: Era;
  readonly definition: EnvironmentDefinition;
  readonly authority: HarnessAuthority;
  readonly report: Report;
  /** True where the client has to name the session in each request: `setup` then answers its id. */
  readonly hasHandle?: boolean;
  /** Opens a server in this process that the environment is connected to. */
  readonly openServer: (server: unknown) => Promise<ConnectedSource>;
}

/** One session of an environment: its server, what it has initialized, and its active scenario. Whoever made it closes it. */
export class EnvironmentSession implements HostedSession {
  readonly id: string;
  readonly era: Era;
  readonly definition: EnvironmentDefinition;
  readonly server: SessionServer;
  readonly changes = new SessionChanges();
  /** Called once, when the session has ended for whatever reason, before its cleanup. */
  onclose: (() => void) | undefined;

  readonly #options: SessionOptions;
  readonly #info: { readonly id: string; protocol: string; client: Session['client'] };
  readonly #initialization: Initialization;
  readonly #active: ActiveScenario;
  readonly #solution: RunningSolution;
  readonly #catalogue: SessionCatalogue;
  readonly #connections: SessionConnections;
  readonly #inputRequired: InputRequired;
  readonly #subscriptions = new Subscriptions();
  /** Capabilities from the client's handshake; on 2026-07-28 each request carries them. */
  #offer: ClientOffer = { elicitation: false, sampling: false, roots: false };
  #isHarnessConnection: boolean | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: SessionOptions) {
    const { id, era, definition, report } = options;
    this.id = id;
    this.era = era;
    this.definition = definition;
    this.server = createServer(definition, report);
    this.#options = options;
    // Not the id on the wire: over HTTP whoever names that one speaks on this connection, a harness's too, and what an
    // author's code is given a tool may tell an agent.
    this.#info = {
      id: randomUUID(),
      protocol: era === 'modern' ? MODERN_REVISION : SESSION_REVISIONS[0],
      client: undefined,
    };
    const { openServer } = options;
    this.#connections = new SessionConnections(definition.connections, { report, openServer, changes: this.changes });
    const connect = () => this.#openConnections();
    const hooks = this.#connections.isOpen ? definition.initializeHooks : [connect, ...definition.initializeHooks];
    this.#initialization = new Initialization({
      hooks,
      session: this.#info,
      report,
      isHarness: ({ mcpReq }) => isHarness(mcpReq._meta as Meta | undefined, options.authority),
    });
    this.#active = new ActiveScenario(report, () => listTools(this.#catalogue.tools, 'agent').map(({ name }) => name));
    this.#solution = new RunningSolution(report);
    this.server.onclose = () => void this.close();
    if (era === 'modern') this.server.serveModern();
    else this.#awaitHandshake();
    const { changes } = this;
    const [active, solution] = [this.#active, this.#solution];
    const connections = this.#connections;
    this.#catalogue = new SessionCatalogue({ definition, connections, active, solution, changes, report });
    this.#inputRequired = new InputRequired(id, report);
    changes.on((change) => this.#tell(change));
    bindEnvironment({
      server: this.server,
      catalogue: this.#catalogue,
      active,
      inputRequired: this.#inputRequired,
      subscriptions: era === 'legacy' ? this.#subscriptions : undefined,
      handle: options.hasHandle === true ? id : undefined,
      admit: (mcp) => this.#admit(mcp),
      ensureInitialized: (mcp, { context }) =>
        this.isInitialized ? undefined : this.#initialization.ensure(mcp, context.progress),
      ensureConnected: ({ context }) => (connections.isOpen ? undefined : this.#ensureConnected(context.capabilities)),
    });
  }

  /** The revision that was agreed on. */
  get protocol(): string {
    return this.#info.protocol;
  }

  get isInitialized(): boolean {
    return this.#initialization.isDone;
  }

  connect(transport: Transport): Promise<void> {
    return this.server.connect(transport);
  }

  /**
   * Ends the session: running requests are aborted, generators closed, close hooks run in reverse, all within the
   * budget (milliseconds). Never rejects; later calls wait for the first.
   */
  close(budgetMs: number = SHUTDOWN_GRACE_MS.environment): Promise<void> {
    this.#closing ??= this.#close(budgetMs);
    return this.#closing;
  }

  async #close(budgetMs: number): Promise<void> {
    const { definition, report } = this.#options;
    // By now `#closing` has to be set: closing the server calls `close` again.
    await Promise.resolve();
    this.onclose?.();
    this.#catalogue.close();
    this.#inputRequired.close();
    await this.server.close().catch(() => {});
    // Connected servers are told at once and end beside the author's code.
    const disconnecting = this.#connections.close();
    if (!this.#initialization.hasBegun && !this.#connections.hasBegun) return disconnecting;
    const closeHooks = [...definition.closeHooks].reverse();
    await runCleanup(
      [
        { name: 'The initialize hook', run: () => this.#initialization.stopped() },
        { name: 'The scenario', run: () => this.#active.close(budgetMs) },
        { name: 'The solution', run: () => this.#solution.close(budgetMs) },
        ...closeHooks.map((hook) => ({ name: 'A close hook', run: hook })),
        { name: 'The end of the connected servers', run: () => disconnecting },
      ],
      budgetMs,
      report,
    );
  }

  /**
   * Tells the client of a change, on the connection itself. On 2026-07-28 that is for transports without streams of
   * subscribers; there a request says who it is for, and a change says nothing of who listens: agents, for all we know.
   */
  #tell(change: SessionChange): void {
    if (!isNewsFor(change, this.#isHarnessConnection === true ? 'harness' : 'agent')) return;
    const isWanted = change.kind !== 'resource' || this.era === 'modern' || this.#subscriptions.has(change.uri);
    // On 2026-07-28 only those who listen are told, who may not have called anything yet.
    if ((this.isInitialized || this.era === 'modern') && isWanted) sendChange(this.server, change);
  }

  #openConnections(): Promise<void> {
    return this.#connections.open(this.#offer, () => this.#catalogue.own());
  }

  /** On 2026-07-28 the first request may be a list, which needs them before any hook has run. */
  async #ensureConnected(offer: ClientOffer): Promise<void> {
    this.#offer = offer;
    try {
      await this.#openConnections();
    } catch (error) {
      this.#options.report(messageOf(error));
      throw refusedInitialization();
    }
  }

  #awaitHandshake(): void {
    this.#isHarnessConnection = false;
    this.server.beforeInitialize(async (params, mcp) => {
      await this.#initialization.initialize(mcp, () => {
        this.#info.protocol = negotiatedRevision(params.protocolVersion);
        this.#info.client = params.clientInfo;
        const depth = mcp.mcpReq._meta?.[META.connectionDepth];
        // The peer declares the depth. A number below the true one would lift the limit.
        if (typeof depth === 'number') this.#connections.depth = Math.max(0, depth);
        const { elicitation, sampling, roots } = params.capabilities;
        this.#offer = {
          elicitation: elicitation !== undefined,
          sampling: sampling !== undefined,
          roots: roots !== undefined,
        };
        this.#isHarnessConnection = isHarness(mcp.mcpReq._meta as Meta | undefined, this.#options.authority);
      });
      return { [META.sessionsPerProcess]: this.definition.sessionsPerProcess };
    });
  }

  #admit(mcp: ServerContext): EnvironmentRequest | Promise<EnvironmentRequest> {
    if (this.era === 'modern') this.#info.client ??= envelopeOf(mcp)[CLIENT_INFO_META_KEY] as Session['client'];
    else if (!this.#initialization.isSettled) {
      return this.#initialization.settled(mcp).then(() => this.#openRequest(mcp));
    }
    return this.#openRequest(mcp);
  }

  #openRequest(mcp: ServerContext): EnvironmentRequest {
    return openRequest(mcp, {
      server: this.server,
      session: this.#info,
      authority: this.#options.authority,
      isHarnessConnection: this.#isHarnessConnection,
      report: this.#options.report,
    });
  }
}

/** Options of the constructor that the SDK takes as part of what the server says of itself. */
const INFO_OPTIONS: ReadonlySet<string> = new Set(['title', 'websiteUrl', 'icons', 'description']);

function createServer(definition: EnvironmentDefinition, report: Report): SessionServer {
  const { name, version, instructions, serverOptions } = definition;
  const given = Object.entries(serverOptions);
  const info = { name, version, ...Object.fromEntries(given.filter(([key]) => INFO_OPTIONS.has(key))) };
  const { capabilities, ...options } = Object.fromEntries(given.filter(([key]) => !INFO_OPTIONS.has(key)));
  const own = {
    tools: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    prompts: { listChanged: true },
    completions: {},
    logging: {},
  };
  const server = new SessionServer(info, {
    ...options,
    ...(instructions === undefined ? {} : { instructions }),
    capabilities: mergeCapabilities(own, (capabilities ?? {}) as typeof own),
  });
  server.onerror = (error) => report(describeConnectionError(error));
  return server;
}
