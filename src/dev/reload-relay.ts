import { isNotification, isRequest, type RequestId } from '../mcp/json-rpc.ts';
import type { SessionChange } from '../mcp/session/session-changes.ts';
import type { Child } from './child.ts';
import { ChildVoice } from './child-voice.ts';
import { Line } from './line.ts';
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
  /** Gives a child of the newest version. @throws Error with words for the client. */
  takeChild(): Promise<Child>;
  /** Ends a child as a client that goes away does. */
  endChild(child: Child): void;
  /** The child of the session has ended by itself, in words that continue "The environment …". */
  onCrash(ending: string): void;
  /** Where set, told of what changes: on 2026-07-28 over HTTP the streams that wait for it are not those of the child. */
  readonly onChanged?: ((change: SessionChange) => void) | undefined;
  /** Where set, the name of the session that `setup` answers. */
  readonly handle?: string | undefined;
  /** Time for a running call when its process is replaced. */
  readonly callGraceMs: number;
  /** Time for the initialize hook of the new version; after it the old version is kept. */
  readonly initializeTimeoutMs: number;
}

/** The outcome of a reload: what the session lost, or why it keeps its version. */
export type Reloaded =
  | { readonly kind: 'replaced'; readonly isUsed: boolean; readonly scenario: string | undefined }
  | { readonly kind: 'kept'; readonly reason: string }
  /** Nothing was there to be replaced, or another reload has overtaken this one. */
  | { readonly kind: 'none' };

/**
 * Keeps the connection of one client while the process behind it is replaced. New requests go to the new process as soon
 * as it is initialised; those that run end on the old one, or with an error. Whoever made it closes it.
 */
export class ReloadRelay {
  readonly memory = new SessionMemory();
  readonly #front: Transport;
  readonly #options: RelayOptions;
  readonly #voice: ChildVoice;
  /** All that are open; the last is `#current`, where that is set. */
  readonly #lines = new Set<Line>();
  /** Lines whose running calls have some time left, until the timer ends them. */
  readonly #retiring = new Map<Line, NodeJS.Timeout>();
  /** Messages that arrived while no process was there. */
  #held: Message[] = [];
  #current: Line | undefined;
  #starting: Promise<void> | undefined;
  #generation = 0;
  #reload = 0;
  #isClosed = false;

  constructor(front: Transport, options: RelayOptions) {
    this.#front = front;
    this.#options = options;
    this.#voice = new ChildVoice({
      memory: this.memory,
      handle: options.handle,
      send: (message, related) => this.#send(message, related),
      isCurrent: (line) => line === this.#current,
      onAnswered: (line) => this.#dropWhenDone(line),
    });
  }

  async start(): Promise<void> {
    this.#front.onmessage = (message: Message) => this.#receive(withParamHeaders(message, this.#front));
    await this.#front.start();
  }

  /** Gives the session a child of the newest version. Never rejects. */
  async reload(): Promise<Reloaded> {
    this.#reload += 1;
    const reload = this.#reload;
    if (this.#current === undefined || this.#isClosed) return { kind: 'none' };
    let line: Line;
    try {
      line = this.#open(await this.#options.takeChild());
    } catch {
      return { kind: 'none' };
    }
    const reason = await this.#initialize(line);
    if (this.#isClosed || reload !== this.#reload || reason !== undefined) {
      this.#drop(line);
      return reason === undefined ? { kind: 'none' } : { kind: 'kept', reason };
    }
    const old = this.#current;
    const lost = this.memory.forgetInstance();
    this.#switchTo(line);
    this.#tellLost(lost.scenario, 'reloaded');
    if (old !== undefined) this.#retire(old);
    return { kind: 'replaced', ...lost };
  }

  /** Ends the session and gives its child to the caller, to be ended as the caller likes. */
  async close(): Promise<Child | undefined> {
    this.#isClosed = true;
    const child = this.#current?.child;
    for (const line of [...this.#lines]) {
      this.#lines.delete(line);
      line.child.process.onclose = () => {};
      if (line.child !== child) this.#options.endChild(line.child);
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

  /** Opens the first line, or another after a child that has ended by itself. */
  async #begin(): Promise<void> {
    const isRestart = this.#generation > 0;
    let line: Line | undefined;
    try {
      line = this.#open(await this.#options.takeChild());
      const reason = await this.#initialize(line);
      if (reason !== undefined)
        throw new Error(`The environment was started again and could not be initialized: ${reason}`);
    } catch (error) {
      if (line !== undefined) this.#drop(line);
      for (const message of this.#held.splice(0)) {
        if (isRequest(message)) this.#toClient(errorReply(message.id, (error as Error).message));
      }
      return;
    }
    // A reload has been faster.
    if (this.#isClosed || this.#current !== undefined) {
      this.#drop(line);
      return;
    }
    const { scenario } = this.memory.forgetInstance();
    this.#switchTo(line, isRestart);
    this.#tellLost(scenario, 'started again');
  }

  #open(child: Child): Line {
    this.#generation += 1;
    const line = new Line(child, this.#generation);
    this.#lines.add(line);
    child.process.onmessage = (message) => this.#voice.take(line, message as Message);
    child.onChange = (change) => {
      if (line === this.#current) this.#options.onChanged?.(change);
    };
    child.process.onclose = () => this.#onEnd(line);
    // It may have ended while nobody listened.
    if (child.process.status !== undefined) setImmediate(() => this.#onEnd(line));
    return line;
  }

  #initialize(line: Line): Promise<string | undefined> {
    return repeatHandshake(line, this.memory.handshake, this.#options.initializeTimeoutMs);
  }

  /** From now on `line` serves the session: in one step, so that nothing of the client comes between. */
  #switchTo(line: Line, isReplaced = true): void {
    const old = this.#current;
    this.#current = line;
    const { memory } = this;
    if (memory.isReady) line.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    for (const { method, params } of memory.toRepeat()) void line.ask(method, params);
    for (const [id, { request }] of memory.listening) {
      old?.unanswered.delete(id);
      line.send(request);
    }
    // A handshake that the old one has not answered is the new one's; its progress would count from the start.
    for (const [id, request] of old?.unanswered ?? []) {
      if (request.method !== 'initialize') continue;
      old?.unanswered.delete(id);
      line.send({ ...request, params: { ...paramsOf(request), _meta: withoutProgressToken(request) } });
    }
    if (isReplaced) this.#announce();
    for (const message of this.#held.splice(0)) this.#forward(line, message);
  }

  #announce(): void {
    for (const notification of this.memory.toAnnounce()) this.#toClient(notification);
    for (const kind of LISTS) this.#options.onChanged?.({ kind, audience: 'agent' });
  }

  /** A client on a session-based connection cannot know otherwise that its scenario is not active any more. */
  #tellLost(scenario: string | undefined, why: string): void {
    if (scenario !== undefined && this.memory.isReady) this.#toClient(lostScenario(scenario, why));
  }

  /** Lets what runs on a line end, within its time, and then ends its child. */
  #retire(line: Line): void {
    if (line.unanswered.size === 0) {
      this.#drop(line);
      return;
    }
    const timer = setTimeout(() => {
      const { callGraceMs } = this.#options;
      const why = `The environment was reloaded while this ran, and it did not end within ${callGraceMs} ms`;
      for (const id of line.unanswered.keys()) this.#toClient(errorReply(id, why));
      this.#drop(line);
    }, this.#options.callGraceMs);
    timer.unref();
    this.#retiring.set(line, timer);
  }

  #drop(line: Line): void {
    clearTimeout(this.#retiring.get(line));
    this.#retiring.delete(line);
    this.#lines.delete(line);
    line.child.process.onmessage = () => {};
    line.child.process.onclose = () => {};
    for (const requestId of line.asked.keys()) {
      this.#toClient({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
    }
    this.#options.endChild(line.child);
  }

  #onEnd(line: Line): void {
    line.onEnd?.();
    if (!this.#lines.has(line) || this.#isClosed) return;
    const isCurrent = line === this.#current;
    if (isCurrent) this.#current = undefined;
    // Streams that wait for changes go on with the next child.
    for (const id of this.memory.listening.keys()) line.unanswered.delete(id);
    for (const id of line.unanswered.keys()) {
      this.#toClient(
        errorReply(id, 'The process of the environment ended while it ran this; the next request starts another'),
      );
    }
    this.#drop(line);
    if (isCurrent) this.#options.onCrash(line.child.process.status ?? 'was ended');
  }

  #forward(line: Line, message: Message): void {
    if (!isRequest(message)) {
      if ('method' in message && message.method === 'notifications/initialized') this.memory.isReady = true;
      line.send(message);
      return;
    }
    if (SessionMemory.isOpenEnded(message)) this.memory.listening.set(message.id, { request: message, filter: {} });
    line.send(this.memory.withHookMeta(message));
  }

  #answer(reply: Reply): void {
    for (const line of this.#lines) {
      const id = line.asked.get(reply.id as RequestId);
      if (id === undefined) continue;
      line.asked.delete(reply.id as RequestId);
      line.send({ ...reply, id });
    }
  }

  #cancel(message: Notification): void {
    const requestId = paramsOf(message).requestId as RequestId;
    this.memory.listening.delete(requestId);
    this.#held = this.#held.filter((held) => !isRequest(held) || held.id !== requestId);
    for (const line of this.#lines) {
      if (!line.unanswered.delete(requestId)) continue;
      line.send(message);
      this.#dropWhenDone(line);
    }
  }

  #dropWhenDone(line: Line): void {
    if (line.unanswered.size === 0 && this.#retiring.has(line)) this.#drop(line);
  }

  /** A client that has gone is told by the end of its connection. */
  #toClient(message: Message, related?: RequestId): void {
    this.#send(message, related).catch(() => {});
  }

  #send(message: Message, relatedRequestId?: RequestId): Promise<void> {
    return this.#front.send(message, relatedRequestId === undefined ? {} : { relatedRequestId });
  }
}
