import { messageOf } from '../contract/errors.ts';
import { type ConnectionDefinition, type ConnectionTarget, openTarget } from '../environment/connection.ts';
import type { ClientOffer } from '../environment/definition.ts';
import { ToolError } from '../environment/tool-result.ts';
import type { Link } from '../mcp-client/link.ts';
import { untilAborted } from '../runtime/deadline.ts';
import type { UpstreamCatalogue } from './upstream-catalogue.ts';
import { UpstreamClient } from './upstream-client.ts';
import { causeOf, describeFailure, isConnectionLost, isOlderServer } from './upstream-failure.ts';
import { type LinkParts, linkOpeners } from './upstream-link.ts';

/** Start, handshake and lists: as long as the harness waits for an environment, less what that needs itself. */
const CONNECT_TIMEOUT_MS = 30_000;
/** A server that ends again and again is not started more often than this. */
const MAX_RESTARTS = 5;
const RESTART_WINDOW_MS = 60_000;

export interface ConnectedServerParts {
  readonly openServer: LinkParts['openServer'];
  /** The capabilities of the session's client, read when the connection is opened. */
  readonly capabilities: () => ClientOffer;
  /** How many environments are connected to each other up to this server. */
  readonly depth: () => number;
  /** Takes whole sentences for the log of the environment. */
  readonly report: (text: string) => void;
  /** Its lists have been read again, after it said so or was started again. */
  readonly onCatalogue: (catalogue: UpstreamCatalogue) => void;
  readonly onResourceUpdated: (uri: string) => void;
  /** Milliseconds; passed in by tests. */
  readonly now?: () => number;
}

type ServerState =
  /** Before `open`, and after `disconnect`. */
  | { readonly kind: 'unconnected' }
  | { readonly kind: 'connected'; readonly client: UpstreamClient }
  /** The next call fails, unless a call has already: it must not go on with what is lost. The call after it connects. */
  | { readonly kind: 'ended'; readonly isReported: boolean }
  | { readonly kind: 'reconnecting'; readonly client: Promise<UpstreamClient> }
  | { readonly kind: 'closed' };

/** A server that is part of an environment, in one session: connected once, and again when it has ended. */
export class ConnectedServer {
  readonly definition: ConnectionDefinition;
  readonly #parts: ConnectedServerParts;
  readonly #closing = new AbortController();
  /** Connections that are still being closed. */
  readonly #ending = new Set<Promise<void>>();
  readonly #now: () => number;
  /** Once it is known it stays: what is started again finds the same folder. */
  #target: ConnectionTarget | undefined;
  #state: ServerState = { kind: 'unconnected' };
  /** The last start, which may still be in progress. */
  #starting: Promise<Opened> | undefined;
  #restarts: readonly number[] = [];
  /** How it ended the last time. */
  #lastStatus = 'ended';
  /** Lists that are being read again; stale when they have changed meanwhile. */
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

  /** Connects for the first time. @throws Error for the developer: which server, why, and its last words. */
  async open(): Promise<UpstreamCatalogue> {
    const { client, catalogue } = await this.#start();
    this.#closing.signal.throwIfAborted();
    this.#state = { kind: 'connected', client };
    return catalogue;
  }

  /**
   * Has the server do something, after connecting again where it has ended.
   *
   * @throws ToolError in words for the agent when it ends meanwhile, or is not there; ProtocolError of its answer.
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
   * Asks to be told of changes of a resource, and again whenever the server has been started again. One that cannot tell
   * is left alone.
   */
  async subscribe(uri: string): Promise<void> {
    this.#watched.add(uri);
    if (this.#state.kind !== 'connected' || !this.#state.client.takesSubscriptions) return;
    await this.#state.client.subscribe(uri).catch(() => {});
  }

  /** Ends the connection; `open` may be called again. Never rejects. */
  async disconnect(): Promise<void> {
    const client = this.#state.kind === 'connected' ? this.#state.client : undefined;
    this.#state = { kind: this.#closing.signal.aborted ? 'closed' : 'unconnected' };
    await Promise.all([client?.close(), ...this.#ending]);
  }

  /** Ends the connection for good, one that is being opened included. Never rejects. */
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

  /** A start in progress is awaited at the end, so that no process is left. */
  #start(): Promise<Opened> {
    const starting = this.#connect();
    this.#starting = starting;
    return starting;
  }

  async #connect(): Promise<Opened> {
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

  async #shakeHands(link: Link, signal: AbortSignal): Promise<Opened> {
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

  /** Reads the lists again: once more after the reading in progress, however often the server says that they have changed. */
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

interface Opened {
  readonly client: UpstreamClient;
  readonly catalogue: UpstreamCatalogue;
}
