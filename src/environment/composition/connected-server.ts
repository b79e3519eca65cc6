import { messageOf } from '../../contract/errors.ts';
import { untilAborted } from '../../support/runtime/deadline.ts';
import { type ConnectionDefinition, type ConnectionTarget, openTarget } from '../authoring/connection.ts';
import type { ClientOffer } from '../authoring/definition.ts';
import { ToolError } from '../authoring/tool-result.ts';
import type { Link } from '../mcp-client/link.ts';
import type { UpstreamCatalogue } from './upstream-catalogue.ts';
import { UpstreamClient } from './upstream-client.ts';
import { causeOf, describeFailure, isConnectionLost, isOlderServer } from './upstream-failure.ts';
import { type LinkParts, linkOpeners } from './upstream-link.ts';

/**
 * Limit for start, handshake and lists together. It is shorter than the time that the harness waits for an environment.
 */
const CONNECT_TIMEOUT_MS = 30_000;
/** Maximum number of restarts within `RESTART_WINDOW_MS`. */
const MAX_RESTARTS = 5;
const RESTART_WINDOW_MS = 60_000;

export interface ConnectedServerParts {
  readonly openServer: LinkParts['openServer'];
  /** Reads the capabilities of the session's client when the connection is opened. */
  readonly capabilities: () => ClientOffer;
  /** The number of environments in the chain of connections that ends at this server. */
  readonly depth: () => number;
  /** Writes whole sentences to the log of the environment. */
  readonly report: (text: string) => void;
  /** Called with the new lists after the server reported a change or was restarted. */
  readonly onCatalogue: (catalogue: UpstreamCatalogue) => void;
  readonly onResourceUpdated: (uri: string) => void;
  /** The current time in milliseconds. Only tests set it. */
  readonly now?: () => number;
}

type ServerState =
  /** The state before `open` and after `disconnect`. */
  | { readonly kind: 'unconnected' }
  | { readonly kind: 'connected'; readonly client: UpstreamClient }
  /**
   * The connection was lost. The next call fails, unless a call has failed already, so that the agent learns that the
   * server's state is lost. The call after that connects again.
   */
  | { readonly kind: 'ended'; readonly isReported: boolean }
  | { readonly kind: 'reconnecting'; readonly client: Promise<UpstreamClient> }
  | { readonly kind: 'closed' };

/**
 * A server that is part of an environment, in one session. It connects once, and again after the connection was lost.
 */
export class ConnectedServer {
  readonly definition: ConnectionDefinition;
  readonly #parts: ConnectedServerParts;
  readonly #closing = new AbortController();
  /** Connections that are still being closed. */
  readonly #ending = new Set<Promise<void>>();
  readonly #now: () => number;
  /** The target, kept after the first connection so that a restarted server gets the same folder. */
  #target: ConnectionTarget | undefined;
  #state: ServerState = { kind: 'unconnected' };
  /** The last start, which may still be in progress. */
  #starting: Promise<NewConnection> | undefined;
  #restarts: readonly number[] = [];
  /** The reason why the connection ended last. */
  #lastStatus = 'ended';
  /** The reading of changed lists that is in progress. `isStale` is true if they have changed again since it began. */
  #refresh: { readonly done: Promise<void>; isStale: boolean } | undefined;
  readonly #watched = new Set<string>();

  constructor(definition: ConnectionDefinition, parts: ConnectedServerParts) {
    this.definition = definition;
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
  }

  get label(): string {
    return `The connected server ${this.definition.name}`;
  }

  /**
   * Connects for the first time. @throws Error for the developer, with the name of the server, the reason, and its last
   * output.
   */
  async open(): Promise<UpstreamCatalogue> {
    const { client, catalogue } = await this.#start();
    this.#closing.signal.throwIfAborted();
    this.#state = { kind: 'connected', client };
    return catalogue;
  }

  /**
   * Runs a request at the server. If the connection was lost, it connects again first.
   *
   * @throws ToolError with a message for the agent if the server ends meanwhile or cannot be reached; ProtocolError
   *   that the server answered.
   */
  async use<Result>(run: (client: UpstreamClient) => Promise<Result>, signal: AbortSignal): Promise<Result> {
    if (this.#state.kind === 'ended' && !this.#state.isReported) throw this.#toEndedError();
    const client = await this.#connected();
    signal.throwIfAborted();
    try {
      return await run(client);
    } catch (error) {
      if (signal.aborted || !isConnectionLost(error)) throw error;
      const status = 'could not be reached any more';
      if (this.#isCurrent(client)) this.#lose(client, status, `${status} (${causeOf(error)})`);
      throw this.#toEndedError(' before it had answered');
    }
  }

  /**
   * Subscribes to changes of a resource, and again after each restart of the server. Does nothing if the server has no
   * subscriptions.
   */
  async subscribe(uri: string): Promise<void> {
    this.#watched.add(uri);
    if (this.#state.kind !== 'connected' || !this.#state.client.takesSubscriptions) return;
    await this.#state.client.subscribe(uri).catch(() => {});
  }

  /** Ends the connection. `open` may be called again. Never rejects. */
  async disconnect(): Promise<void> {
    const client = this.#state.kind === 'connected' ? this.#state.client : undefined;
    this.#state = { kind: this.#closing.signal.aborted ? 'closed' : 'unconnected' };
    await Promise.all([client?.close(), ...this.#ending]);
  }

  /** Ends the connection for good, also one that is still being opened. Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The session is over'));
    const started = this.#starting?.then(({ client }) => client.close()).catch(() => {});
    await Promise.all([this.disconnect(), started, this.#refresh?.done]);
  }

  #toEndedError(when = ''): ToolError {
    if (this.#state.kind === 'ended') this.#state = { kind: 'ended', isReported: true };
    return new ToolError(
      `${this.label} ${this.#lastStatus}${when}. It is ${this.#again} again at the next call; what it held in memory is lost`,
    );
  }

  get #again(): string {
    return this.#target !== undefined && 'command' in this.#target ? 'started' : 'connected to';
  }

  #isCurrent(client: UpstreamClient): boolean {
    return this.#state.kind === 'connected' && this.#state.client === client;
  }

  async #connected(): Promise<UpstreamClient> {
    switch (this.#state.kind) {
      case 'closed':
        throw new ToolError(`${this.label} is closed with its session`);
      case 'connected':
      case 'reconnecting':
        return await this.#state.client;
      default: {
        const client = this.#reconnect();
        const state: ServerState = { kind: 'reconnecting', client };
        this.#state = state;
        try {
          return await client;
        } catch (error) {
          if (this.#state === state) this.#state = { kind: 'ended', isReported: true };
          throw error;
        }
      }
    }
  }

  async #reconnect(): Promise<UpstreamClient> {
    const now = this.#now();
    this.#restarts = this.#restarts.filter((at) => at > now - RESTART_WINDOW_MS);
    const [oldest] = this.#restarts;
    if (oldest !== undefined && this.#restarts.length >= MAX_RESTARTS) {
      const seconds = Math.ceil((oldest + RESTART_WINDOW_MS - now) / 1_000);
      throw new ToolError(
        `${this.label} ${this.#lastStatus}, and has been ${this.#again} again ${MAX_RESTARTS} times within a minute. The next time is in ${seconds} s`,
      );
    }
    this.#restarts = [...this.#restarts, now];
    try {
      const { client, catalogue } = await this.#start();
      this.#closing.signal.throwIfAborted();
      this.#state = { kind: 'connected', client };
      for (const uri of this.#watched) void this.subscribe(uri);
      this.#parts.onCatalogue(catalogue);
      return client;
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#parts.report(messageOf(error));
      throw new ToolError(
        `${this.label} ${this.#lastStatus} and could not be ${this.#again} again: the environment's log says why`,
      );
    }
  }

  /** Remembers the start in progress, so that `close` can wait for it and no process is left over. */
  #start(): Promise<NewConnection> {
    const starting = this.#connect();
    this.#starting = starting;
    return starting;
  }

  async #connect(): Promise<NewConnection> {
    const limit = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
    const signal = AbortSignal.any([limit, this.#closing.signal]);
    const [first, ...others] = await this.#linkOpeners(signal);
    let failure: unknown;
    for (const openLink of [first, ...others]) {
      let link: Link | undefined;
      try {
        link = await openLink();
        return await this.#shakeHands(link, signal);
      } catch (error) {
        const cause = limit.aborted ? `did not answer within ${CONNECT_TIMEOUT_MS} ms` : describeFailure(error, link);
        failure ??= new Error(`${this.label} could not be started: it ${cause}`, { cause: error });
        await link?.close();
        if (signal.aborted || !isOlderServer(error)) break;
      }
    }
    throw failure;
  }

  async #linkOpeners(signal: AbortSignal): Promise<ReturnType<typeof linkOpeners>> {
    try {
      this.#target ??= await untilAborted(openTarget(this.definition), signal);
    } catch (error) {
      throw new Error(`${this.label} could not be started: its target ${describeFailure(error, undefined)}`, {
        cause: error,
      });
    }
    return linkOpeners(this.#target, {
      openServer: this.#parts.openServer,
      onLog: (line) => this.#parts.report(`${this.label}: ${line}`),
    });
  }

  async #shakeHands(link: Link, signal: AbortSignal): Promise<NewConnection> {
    const { report, capabilities, depth } = this.#parts;
    const parts = {
      definition: this.definition,
      link,
      capabilities: capabilities(),
      depth: depth(),
      report: (text: string) => report(`${this.label}: ${text}`),
    };
    const client = await UpstreamClient.connect(parts, signal);
    const catalogue = await untilAborted(client.catalogue(signal), signal);
    client.events.onclose = () => {
      if (!this.#isCurrent(client)) return;
      this.#lose(client, link.status() ?? 'closed the connection', link.ending());
    };
    client.events.onListsChanged = () => this.#refreshLists();
    client.events.onResourceUpdated = (uri) => this.#parts.onResourceUpdated(uri);
    return { client, catalogue };
  }

  #lose(client: UpstreamClient, status: string, ending = status): void {
    this.#state = { kind: 'ended', isReported: false };
    this.#lastStatus = status;
    this.#parts.report(`${this.label} ${ending}`);
    const end = client.close().finally(() => this.#ending.delete(end));
    this.#ending.add(end);
  }

  /**
   * Reads the lists again. If they change during the reading, they are read once more after it, no matter how many
   * changes there were.
   */
  #refreshLists(): void {
    if (this.#refresh !== undefined) {
      this.#refresh.isStale = true;
      return;
    }
    const done = this.#readLists().finally(() => {
      const isStale = this.#refresh?.isStale === true;
      this.#refresh = undefined;
      if (isStale) this.#refreshLists();
    });
    this.#refresh = { done, isStale: false };
  }

  async #readLists(): Promise<void> {
    if (this.#state.kind !== 'connected') return;
    const { client } = this.#state;
    const signal = AbortSignal.any([AbortSignal.timeout(CONNECT_TIMEOUT_MS), this.#closing.signal]);
    try {
      const catalogue = await untilAborted(client.catalogue(signal), signal);
      if (this.#isCurrent(client)) this.#parts.onCatalogue(catalogue);
    } catch (error) {
      if (this.#isCurrent(client)) {
        this.#parts.report(`${this.label} has changed its lists, but ${describeFailure(error, undefined)}`);
      }
    }
  }
}

interface NewConnection {
  readonly client: UpstreamClient;
  readonly catalogue: UpstreamCatalogue;
}
