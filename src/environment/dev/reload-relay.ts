import { isNotification, isRequest, type RequestId } from '../server/json-rpc.ts';
import type { SessionChange } from '../server/session/session-changes.ts';
import type { Child } from './child.ts';
import { ChildConnection } from './child-connection.ts';
import { MessageForwarder } from './message-forwarder.ts';
import {
  errorReply,
  LISTS,
  lostScenario,
  type Message,
  type Notification,
  paramsOf,
  type Reply,
  type Transport,
  withoutProgressToken,
} from './messages.ts';
import { withParamHeaders } from './param-headers.ts';
import { repeatHandshake } from './repeat-handshake.ts';
import { SessionMemory } from './session-memory.ts';

export interface RelayOptions {
  /** Gives a child with the newest version. @throws Error with a message for the client. */
  takeChild(): Promise<Child>;
  /** Ends a child like a client that disconnects. */
  endChild(child: Child): void;
  /** Called if the child of the session ended by itself. The text continues "The environment …". */
  onCrash(ending: string): void;
  /**
   * Called for changes, if set. On MCP 2026-07-28 over HTTP, this process holds the streams that wait for changes, not
   * the child.
   */
  readonly onChanged?: ((change: SessionChange) => void) | undefined;
  /** The session id that the result of `setup` contains, if set. */
  readonly handle?: string | undefined;
  /** Milliseconds that a running call may take after its process was replaced. */
  readonly callGraceMs: number;
  /** Milliseconds for the initialize hook of the new version. After that, the old version stays in use. */
  readonly initializeTimeoutMs: number;
}

/** The outcome of a reload: what the session lost, or why it keeps its old version. */
export type Reloaded =
  | { readonly kind: 'replaced'; readonly isUsed: boolean; readonly scenario: string | undefined }
  | { readonly kind: 'kept'; readonly reason: string }
  /** The session had no process to replace, or a newer reload replaced this one. */
  | { readonly kind: 'none' };

/**
 * Keeps the connection of one client while the process behind it is replaced. New requests go to the new process as
 * soon as it is initialized. Running requests finish on the old one, or get an error. The caller that makes a relay has
 * to close it.
 */
export class ReloadRelay {
  readonly memory = new SessionMemory();
  readonly #front: Transport;
  readonly #options: RelayOptions;
  readonly #forwarder: MessageForwarder;
  /** All open connections. `#current` is the last of them, if it is set. */
  readonly #connections = new Set<ChildConnection>();
  /** Connections with running calls that may still finish. The timer ends them. */
  readonly #retiring = new Map<ChildConnection, NodeJS.Timeout>();
  /** Messages that arrived while there was no process. */
  #held: Message[] = [];
  #current: ChildConnection | undefined;
  #starting: Promise<void> | undefined;
  #generation = 0;
  #reload = 0;
  #isClosed = false;

  constructor(front: Transport, options: RelayOptions) {
    this.#front = front;
    this.#options = options;
    this.#forwarder = new MessageForwarder({
      memory: this.memory,
      handle: options.handle,
      send: (message, related) => this.#send(message, related),
      isCurrent: (connection) => connection === this.#current,
      onAnswered: (connection) => this.#dropWhenDone(connection),
    });
  }

  async start(): Promise<void> {
    this.#front.onmessage = (message: Message) => this.#receive(withParamHeaders(message, this.#front));
    await this.#front.start();
  }

  /** Gives the session a child with the newest version. Never rejects. */
  async reload(): Promise<Reloaded> {
    this.#reload += 1;
    const reload = this.#reload;
    if (this.#current === undefined || this.#isClosed) return { kind: 'none' };
    let connection: ChildConnection;
    try {
      connection = this.#open(await this.#options.takeChild());
    } catch {
      return { kind: 'none' };
    }
    const reason = await this.#initialize(connection);
    if (this.#isClosed || reload !== this.#reload || reason !== undefined) {
      this.#drop(connection);
      return reason === undefined ? { kind: 'none' } : { kind: 'kept', reason };
    }
    const old = this.#current;
    const lost = this.memory.forgetInstance();
    this.#switchTo(connection);
    this.#tellLost(lost.scenario, 'reloaded');
    if (old !== undefined) this.#retire(old);
    return { kind: 'replaced', ...lost };
  }

  /** Ends the session and gives its child to the caller, who has to end it. */
  async close(): Promise<Child | undefined> {
    this.#isClosed = true;
    const child = this.#current?.child;
    for (const connection of [...this.#connections]) {
      this.#connections.delete(connection);
      connection.child.process.onclose = () => {};
      if (connection.child !== child) this.#options.endChild(connection.child);
    }
    this.#current = undefined;
    this.#held = [];
    await this.#front.close().catch(() => {});
    return child;
  }

  #receive(message: Message): void {
    if (this.#isClosed) return;
    if (!('method' in message)) this.#answer(message);
    else if (isNotification(message) && message.method === 'notifications/cancelled') this.#cancel(message);
    else if (this.#current === undefined) this.#hold(message);
    else this.#forward(this.#current, message);
  }

  #hold(message: Message): void {
    this.#held.push(message);
    this.#starting ??= this.#begin().finally(() => {
      this.#starting = undefined;
    });
  }

  /** Opens the first connection, or a new one after the child ended by itself. */
  async #begin(): Promise<void> {
    const isRestart = this.#generation > 0;
    let connection: ChildConnection | undefined;
    try {
      connection = this.#open(await this.#options.takeChild());
      const reason = await this.#initialize(connection);
      if (reason !== undefined)
        throw new Error(`The environment was started again and could not be initialized: ${reason}`);
    } catch (error) {
      if (connection !== undefined) this.#drop(connection);
      for (const message of this.#held.splice(0)) {
        if (isRequest(message)) this.#toClient(errorReply(message.id, (error as Error).message));
      }
      return;
    }
    // A reload was faster, so this child is not needed.
    if (this.#isClosed || this.#current !== undefined) {
      this.#drop(connection);
      return;
    }
    const { scenario } = this.memory.forgetInstance();
    this.#switchTo(connection, isRestart);
    this.#tellLost(scenario, 'started again');
  }

  #open(child: Child): ChildConnection {
    this.#generation += 1;
    const connection = new ChildConnection(child, this.#generation);
    this.#connections.add(connection);
    child.process.onmessage = (message) => this.#forwarder.forward(connection, message as Message);
    child.onChange = (change) => {
      if (connection === this.#current) this.#options.onChanged?.(change);
    };
    child.process.onclose = () => this.#onEnd(connection);
    // The child may have ended before the listener was set.
    if (child.process.status !== undefined) setImmediate(() => this.#onEnd(connection));
    return connection;
  }

  #initialize(connection: ChildConnection): Promise<string | undefined> {
    return repeatHandshake(connection, this.memory.handshake, this.#options.initializeTimeoutMs);
  }

  /**
   * Makes `connection` serve the session. This happens in one step, so that no message of the client comes in between.
   */
  #switchTo(connection: ChildConnection, isReplaced = true): void {
    const old = this.#current;
    this.#current = connection;
    const { memory } = this;
    if (memory.isReady) connection.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    for (const { method, params } of memory.toRepeat()) void connection.ask(method, params);
    for (const [id, { request }] of memory.listening) {
      old?.unanswered.delete(id);
      connection.send(request);
    }
    // The new process answers a handshake that the old one has not answered. The progress token is removed, because
    // progress would begin again.
    for (const [id, request] of old?.unanswered ?? []) {
      if (request.method !== 'initialize') continue;
      old?.unanswered.delete(id);
      connection.send({ ...request, params: { ...paramsOf(request), _meta: withoutProgressToken(request) } });
    }
    if (isReplaced) this.#announce();
    for (const message of this.#held.splice(0)) this.#forward(connection, message);
  }

  #announce(): void {
    for (const notification of this.memory.toAnnounce()) this.#toClient(notification);
    for (const kind of LISTS) this.#options.onChanged?.({ kind, audience: 'agent' });
  }

  /** On a connection with sessions, the client cannot notice in another way that its scenario is no longer active. */
  #tellLost(scenario: string | undefined, why: string): void {
    if (scenario !== undefined && this.memory.isReady) this.#toClient(lostScenario(scenario, why));
  }

  /** Lets the running calls of a connection finish within the time limit, then ends its child. */
  #retire(connection: ChildConnection): void {
    if (connection.unanswered.size === 0) {
      this.#drop(connection);
      return;
    }
    const timer = setTimeout(() => {
      const { callGraceMs } = this.#options;
      const why = `The environment was reloaded while this ran, and it did not end within ${callGraceMs} ms`;
      for (const id of connection.unanswered.keys()) this.#toClient(errorReply(id, why));
      this.#drop(connection);
    }, this.#options.callGraceMs);
    timer.unref();
    this.#retiring.set(connection, timer);
  }

  #drop(connection: ChildConnection): void {
    clearTimeout(this.#retiring.get(connection));
    this.#retiring.delete(connection);
    this.#connections.delete(connection);
    connection.child.process.onmessage = () => {};
    connection.child.process.onclose = () => {};
    for (const requestId of connection.openQuestions.keys()) {
      this.#toClient({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
    }
    this.#options.endChild(connection.child);
  }

  #onEnd(connection: ChildConnection): void {
    connection.onEnd?.();
    if (!this.#connections.has(connection) || this.#isClosed) return;
    const isCurrent = connection === this.#current;
    if (isCurrent) this.#current = undefined;
    // The next child serves the streams that wait for changes.
    for (const id of this.memory.listening.keys()) connection.unanswered.delete(id);
    for (const id of connection.unanswered.keys()) {
      this.#toClient(
        errorReply(id, 'The process of the environment ended while it ran this; the next request starts another'),
      );
    }
    this.#drop(connection);
    if (isCurrent) this.#options.onCrash(connection.child.process.status ?? 'was ended');
  }

  #forward(connection: ChildConnection, message: Message): void {
    if (!isRequest(message)) {
      if ('method' in message && message.method === 'notifications/initialized') this.memory.isReady = true;
      connection.send(message);
      return;
    }
    if (SessionMemory.isOpenEnded(message)) this.memory.listening.set(message.id, { request: message, filter: {} });
    connection.send(this.memory.withHookMeta(message));
  }

  #answer(reply: Reply): void {
    for (const connection of this.#connections) {
      const id = connection.openQuestions.get(reply.id as RequestId);
      if (id === undefined) continue;
      connection.openQuestions.delete(reply.id as RequestId);
      connection.send({ ...reply, id });
    }
  }

  #cancel(message: Notification): void {
    const requestId = paramsOf(message).requestId as RequestId;
    this.memory.listening.delete(requestId);
    this.#held = this.#held.filter((held) => !isRequest(held) || held.id !== requestId);
    for (const connection of this.#connections) {
      if (!connection.unanswered.delete(requestId)) continue;
      connection.send(message);
      this.#dropWhenDone(connection);
    }
  }

  #dropWhenDone(connection: ChildConnection): void {
    if (connection.unanswered.size === 0 && this.#retiring.has(connection)) this.#drop(connection);
  }

  /** Errors are ignored: a client that has disconnected needs no message. */
  #toClient(message: Message, related?: RequestId): void {
    this.#send(message, related).catch(() => {});
  }

  #send(message: Message, relatedRequestId?: RequestId): Promise<void> {
    return this.#front.send(message, relatedRequestId === undefined ? {} : { relatedRequestId });
  }
}
