import { randomUUID } from 'node:crypto';
import {
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  type ServerContext,
  type Transport,
} from '@modelcontextprotocol/server';
import { messageOf } from '../../../contract/errors.ts';
import { META, SCENARIOS_URI, SHUTDOWN_GRACE_MS } from '../../../contract/names.ts';
import type { ClientOffer, EnvironmentDefinition } from '../../authoring/definition.ts';
import { runCleanup } from '../cleanup.ts';
import { checkParamHeaders } from '../param-headers.ts';
import type { Era, HostedSession } from '../session-host.ts';
import { SessionConnections } from './connections.ts';
import { toProtocolError, unknownEntry } from './failures.ts';
import { Initialization, refusedInitialization } from './initialize.ts';
import { listPrompts } from './prompts.ts';
import { type EnvironmentRequest, openRequest } from './request.ts';
import { type FoundResource, findResource, listResources, listResourceTemplates, readResource } from './resources.ts';
import { ActiveScenario } from './scenarios/active-scenario.ts';
import type { InputRequired, RequestTarget } from './scenarios/input-required.ts';
import { RunningSolution } from './scenarios/running-solution.ts';
import { ScenarioSandboxes } from './scenarios/scenario-sandboxes.ts';
import { SessionCatalogue, type SessionContents } from './session-catalogue.ts';
import { isNewsFor, type SessionChange, SessionChanges } from './session-changes.ts';
import type { SessionOptions } from './session-options.ts';
import { SessionPeer } from './session-peer.ts';
import { createSessionServer, handshakeMeta, type SessionServer } from './session-server.ts';
import { listTools } from './session-tools.ts';
import { Subscriptions, sendChange } from './subscriptions.ts';

/**
 * One session of an environment, from its handshake to its end. Every request passes through `#answer`, and the methods
 * below it handle one method of the protocol each. The caller that creates a session has to close it.
 */
export class EnvironmentSession implements HostedSession {
  readonly id: string;
  readonly era: Era;
  readonly definition: EnvironmentDefinition;
  readonly server: SessionServer;
  readonly changes = new SessionChanges();
  /** Called once when the session has ended for any reason, before its cleanup. */
  onclose: (() => void) | undefined;

  readonly #options: SessionOptions;
  readonly #peer: SessionPeer;
  readonly #initialization: Initialization;
  readonly #active: ActiveScenario;
  readonly #solution: RunningSolution;
  readonly #sandboxes: ScenarioSandboxes | undefined;
  readonly #catalogue: SessionCatalogue;
  readonly #connections: SessionConnections;
  readonly #subscriptions = new Subscriptions();
  /** Calls of MCP 2026-07-28 that wait for answers. Made at the first call. */
  #inputRequired: InputRequired | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: SessionOptions) {
    const { id, era, definition, authority, report, openServer, engines } = options;
    const { changes } = this;
    this.id = id;
    this.era = era;
    this.definition = definition;
    this.#options = options;
    this.server = createSessionServer(definition, report);
    // Author code may show this id to an agent, so it must not be the id that clients send.
    this.#peer = new SessionPeer({ id: randomUUID(), era, server: this.server, authority, report });
    if (definition.sandboxes.size > 0) {
      this.#sandboxes = new ScenarioSandboxes({ definition, session: this.#peer.session.id, engines, report });
    }
    this.#active = new ActiveScenario(report, () => this.#catalogue.agentToolNames(), this.#sandboxes);
    this.#solution = new RunningSolution(report);
    this.#connections = new SessionConnections(definition.connections, { report, openServer, changes });
    const [active, solution, connections] = [this.#active, this.#solution, this.#connections];
    this.#catalogue = new SessionCatalogue({ definition, connections, active, solution, changes, report });
    const connect = definition.connections.size === 0 ? [] : [() => this.#catalogue.connect(this.#peer)];
    this.#initialization = new Initialization([...connect, ...definition.initializeHooks], this.#peer);

    this.server.onclose = () => void this.close();
    changes.on((change) => this.#notifyClient(change));
    const meta = handshakeMeta(definition);
    if (era === 'modern') this.server.serveModern(meta);
    else this.#initialization.serve(this.server, meta);
    this.#bindTools();
    this.#bindResources();
    this.#bindPrompts();
  }

  /** The protocol revision in use. */
  get protocol(): string {
    return this.#peer.session.protocol;
  }

  get isInitialized(): boolean {
    return this.#initialization.isDone;
  }

  connect(transport: Transport): Promise<void> {
    return this.server.connect(transport);
  }

  /** Handles one request. It awaits nothing without need, because each `await` would cost a microtask. */
  async #answer<Answer>(mcp: ServerContext, handle: (request: EnvironmentRequest) => Promise<Answer>): Promise<Answer> {
    const handshake = this.#handshakeBefore(mcp);
    if (handshake !== undefined) await handshake;
    const request = openRequest(mcp, this.#peer);
    try {
      const connecting = this.#connect(request);
      if (connecting !== undefined) await connecting;
      return await handle(request);
    } catch (error) {
      throw toProtocolError('The request', request, error);
    } finally {
      const finishing = request.progress?.finish();
      if (finishing !== undefined) await finishing;
    }
  }

  /** Waits for the handshake. Undefined if there is nothing to wait for. @throws ProtocolError without a handshake. */
  #handshakeBefore(mcp: ServerContext): Promise<void> | undefined {
    if (this.era === 'legacy') return this.#initialization.isSettled ? undefined : this.#initialization.settled(mcp);
    this.#peer.introduceByRequest(mcp);
    return undefined;
  }

  /** Connects to the servers. Undefined if all are connected. @throws ProtocolError */
  #connect({ context }: EnvironmentRequest): Promise<void> | undefined {
    if (this.definition.connections.size === 0 || this.#connections.isOpen) return undefined;
    return this.#connectServers(context.capabilities);
  }

  /** On MCP 2026-07-28 the first request may be a list. It needs the connected servers even before any hook has run. */
  async #connectServers(offer: ClientOffer): Promise<void> {
    this.#peer.offer = offer;
    try {
      await this.#catalogue.connect(this.#peer);
    } catch (error) {
      this.#options.report(messageOf(error));
      throw refusedInitialization();
    }
  }

  /** Runs author code after the initialize hooks. On MCP 2026-07-28 it may ask the client over several requests. */
  async #runAuthorCode<Answer>(
    target: RequestTarget,
    mcp: ServerContext,
    request: EnvironmentRequest,
    run: (request: EnvironmentRequest) => Promise<Answer>,
  ): Promise<Answer | InputRequiredResult> {
    if (this.era === 'legacy') return run(request);
    if (!this.isInitialized) await this.#initialization.ensure(mcp, request.context.progress);
    if (this.#inputRequired === undefined) {
      // Loaded here: a process over stdio starts faster without it, and most clients use a revision with a handshake.
      const { InputRequired } = await import('./scenarios/input-required.ts');
      mcp.mcpReq.signal.throwIfAborted();
      this.#inputRequired ??= new InputRequired(this.id, this.#options.report);
    }
    return this.#inputRequired.startOrResume(target, mcp, request, run);
  }

  #bindTools(): void {
    const { onToolsListed } = this.#options.definition;
    this.server.setRequestHandler('tools/list', ({ params }, mcp) =>
      this.#answerList(params, mcp, ({ tools }) => ({ tools: listTools(tools, onToolsListed) })),
    );
    this.server.setRequestHandler('tools/call', ({ params }, mcp) =>
      this.#answer(mcp, async (request) => {
        const { name, arguments: args = {} } = params;
        const tool = this.#catalogue.seenBy(request.audience).tools.get(name);
        if (tool === undefined) throw unknownEntry('tool', name);
        if (this.era === 'modern') checkParamHeaders(tool.entry.inputSchema, args, mcp.mcpReq, this.server.transport);
        if (name === 'setup' && request.audience === 'harness') this.#peer.takeSeed(mcp.mcpReq._meta);
        const called = { method: 'tools/call', name, arguments: args } as const;
        const result = await this.#runAuthorCode(called, mcp, request, async (open) =>
          this.server.projectCallToolResult(await tool.call(args, open), tool.entry.outputSchema),
        );
        const isOfHandle = this.#options.hasHandle === true && name === 'setup';
        const told = isOfHandle ? { ...result, _meta: { [META.sessionId]: this.id } } : result;
        return this.#sandboxes !== undefined && request.isHarnessPeer ? this.#sandboxes.addFacts(told) : told;
      }),
    );
  }

  #bindResources(): void {
    this.server.setRequestHandler('resources/list', ({ params }, mcp) =>
      this.#answerList(params, mcp, ({ resources }) => ({ resources: listResources(resources) })),
    );
    this.server.setRequestHandler('resources/templates/list', ({ params }, mcp) =>
      this.#answerList(params, mcp, ({ resources }) => ({ resourceTemplates: listResourceTemplates(resources) })),
    );
    this.server.setRequestHandler('resources/read', ({ params: { uri } }, mcp) =>
      this.#answer(mcp, async (request) => {
        const { resource, variables } = this.#resourceAt(uri, request);
        if (resource.isBuiltIn) {
          const read = await readResource(resource, uri, variables, request);
          const isForHarness = uri === SCENARIOS_URI && request.audience === 'harness';
          if (!isForHarness) return read;
          const told = this.#catalogue.withWarnings(read);
          if (this.#sandboxes === undefined || mcp.mcpReq._meta?.[META.sandboxes] !== true) return told;
          return { ...told, _meta: { ...told._meta, ...(await this.#sandboxes.problemMeta(mcp.mcpReq.signal)) } };
        }
        const called = { method: 'resources/read', name: uri, arguments: {} } as const;
        return this.#runAuthorCode(called, mcp, request, (open) => readResource(resource, uri, variables, open));
      }),
    );
    // On MCP 2026-07-28 clients subscribe with a stream instead.
    if (this.era === 'modern') return;
    this.server.setRequestHandler('resources/subscribe', ({ params: { uri } }, mcp) =>
      this.#answer(mcp, async (request) => {
        const { resource } = this.#resourceAt(uri, request);
        this.#subscriptions.add(uri);
        await resource.connected?.subscribe(uri);
        return {};
      }),
    );
    this.server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }, mcp) =>
      this.#answer(mcp, async (request) => {
        this.#resourceAt(uri, request);
        this.#subscriptions.remove(uri);
        return {};
      }),
    );
  }

  #bindPrompts(): void {
    this.server.setRequestHandler('prompts/list', ({ params }, mcp) =>
      this.#answerList(params, mcp, ({ prompts }) => ({ prompts: listPrompts(prompts) })),
    );
    this.server.setRequestHandler('prompts/get', ({ params }, mcp) =>
      this.#answer(mcp, async (request) => {
        const { name, arguments: args = {} } = params;
        const prompt = this.#catalogue.seenBy(request.audience).prompts.get(name);
        if (prompt === undefined) throw unknownEntry('prompt', name);
        const called = { method: 'prompts/get', name, arguments: args } as const;
        return this.#runAuthorCode(called, mcp, request, (open) => prompt.get(args, open));
      }),
    );
    this.server.setRequestHandler('completion/complete', ({ params }, mcp) =>
      this.#answer(mcp, async (request) => {
        const { complete, findCompleters } = await import('./completions.ts');
        const found = findCompleters(params, this.#catalogue.seenBy(request.audience));
        if (!this.isInitialized) await this.#initialization.ensure(mcp, request.context.progress);
        return complete(params, found, request);
      }),
    );
  }

  /** Answers a list, which always has one page. Any cursor is therefore invalid. */
  #answerList<List extends Result>(
    params: { readonly cursor?: string | undefined } | undefined,
    mcp: ServerContext,
    toList: (seen: SessionContents) => List,
  ): Promise<List> {
    return this.#answer(mcp, async ({ audience }) => {
      if (params?.cursor === undefined) return toList(this.#catalogue.seenBy(audience));
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown cursor: lists of this server have one page');
    });
  }

  /** @throws ProtocolError if the resource does not exist or is hidden. */
  #resourceAt(uri: string, { audience }: EnvironmentRequest): FoundResource {
    const found = findResource(this.#catalogue.seenBy(audience).resources, uri);
    if (found === undefined) throw unknownEntry('resource', uri);
    return found;
  }

  /**
   * Notifies the client of a change on its connection. On MCP 2026-07-28 this applies only to transports without
   * streams of subscribers. There the client's audience is unknown, so it counts as an agent.
   */
  #notifyClient(change: SessionChange): void {
    if (!isNewsFor(change, this.#peer.isHarnessConnection === true ? 'harness' : 'agent')) return;
    const isWanted = change.kind !== 'resource' || this.era === 'modern' || this.#subscriptions.has(change.uri);
    // Clients of MCP 2026-07-28 may listen before their first call.
    if ((this.isInitialized || this.era === 'modern') && isWanted) sendChange(this.server, change);
  }

  /**
   * Ends the session within the limit in milliseconds: aborts running requests, closes generators, and runs the close
   * hooks in reverse order. Never rejects; later calls wait for the first.
   */
  close(budgetMs: number = SHUTDOWN_GRACE_MS.environment): Promise<void> {
    this.#closing ??= this.#close(budgetMs);
    return this.#closing;
  }

  async #close(budgetMs: number): Promise<void> {
    const { definition, report } = this.#options;
    // Wait one step so that `#closing` is set, because closing the server calls `close` again.
    await Promise.resolve();
    this.onclose?.();
    this.#catalogue.close();
    this.#inputRequired?.close();
    await this.server.close().catch(() => {});
    // Connected servers start to close now, in parallel with the author's code.
    const disconnecting = this.#connections.close();
    if (!this.#initialization.hasBegun && !this.#connections.hasBegun) return disconnecting;
    const closeHooks = [...definition.closeHooks].reverse();
    await runCleanup(
      [
        { name: 'The initialize hook', run: () => this.#initialization.stopped() },
        { name: 'The scenario', run: () => this.#active.close(budgetMs) },
        { name: 'The solution', run: () => this.#solution.close(budgetMs) },
        ...closeHooks.map((hook) => ({ name: 'A close hook', run: hook })),
        { name: 'The end of the sandboxes', run: () => this.#sandboxes?.close() },
        { name: 'The end of the connected servers', run: () => disconnecting },
      ],
      budgetMs,
      report,
    );
  }
}
