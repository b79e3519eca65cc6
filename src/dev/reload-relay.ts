import { META, SCENARIOS_URI } from '../contract/names.ts';
import type { Child } from './child.ts';
import { Line } from './line.ts';
import {
  ACKNOWLEDGED,
  errorReply,
  isNotification,
  isRequest,
  LISTS,
  type List,
  listOf,
  type Message,
  metaOf,
  type Notification,
  type Params,
  paramsOf,
  type Reply,
  type Request,
  type RequestId,
  resultOf,
  SUBSCRIPTION_ID,
  type Transport,
  takeRelated,
  withoutProgressToken,
} from './messages.ts';
import { repeatHandshake } from './repeat-handshake.ts';
import { SessionMemory, scenarioNames } from './session-memory.ts';

export interface RelayOptions {
  /** Gives a child of the newest version. @throws Error with words for the client. */
  takeChild(): Promise<Child>;
  /** Ends a child as a client that goes away does. */
  endChild(child: Child): void;
  /** The child of the session has ended by itself, in words that continue "The environment …". */
  onCrash(ending: string): void;
  /** Where set, told of lists that have changed: on 2026-07-28 over HTTP their streams are not those of the child. */
  readonly onChanged?: ((list: List | undefined) => void) | undefined;
  /** Where set, the name of the session that `setup` answers. */
  readonly handle?: string | undefined;
  /** What a running call is given when its process is replaced. */
  readonly callGraceMs: number;
  /** What the initialize hook of the new version is given before the old one is kept. */
  readonly initializeTimeoutMs: number;
}

/** What became of a reload: what the session has lost, or why it stays with the version that it has. */
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
  /** All that are open; the last is `#current`, where that is set. */
  readonly #lines = new Set<Line>();
  /** Lines whose running calls have some time left, until the timer ends them. */
  readonly #retiring = new Map<Line, NodeJS.Timeout>();
  /** What came while no process was there. */
  #held: Message[] = [];
  #current: Line | undefined;
  #starting: Promise<void> | undefined;
  #generation = 0;
  #reload = 0;
  #isClosed = false;

  constructor(front: Transport, options: RelayOptions) {
    this.#front = front;
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#front.onmessage = (message: Message) => this.#receive(message);
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
    this.memory.forgetInstance();
    this.#switchTo(line, isRestart);
  }

  #open(child: Child): Line {
    this.#generation += 1;
    const line = new Line(child, this.#generation);
    this.#lines.add(line);
    child.process.onmessage = (message) => this.#take(line, message as Message);
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
    for (const list of LISTS) this.#options.onChanged?.(list);
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
    if (this.#options.onChanged !== undefined) line.followLists(message);
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

  /** Takes what a child says. */
  #take(line: Line, message: Message): void {
    if (isRequest(message)) this.#askClient(line, message);
    else if (isNotification(message)) this.#notifyClient(line, message);
    else if (!line.takeOwn(message)) this.#replyToClient(line, message);
  }

  #replyToClient(line: Line, reply: Reply): void {
    const request = line.unanswered.get(reply.id as RequestId);
    if (request === undefined) return;
    line.unanswered.delete(request.id);
    this.memory.listening.delete(request.id);
    if (line === this.#current) this.#learn(line, request, reply);
    this.#toClient(this.#adapt(request, reply));
    this.#dropWhenDone(line);
  }

  #learn(line: Line, request: Request, reply: Reply): void {
    this.memory.learn(request, reply);
    const { name } = paramsOf(request);
    if (request.method !== 'prompts/get' || resultOf(reply) === undefined || typeof name !== 'string') return;
    // A scenario is a prompt too, and getting that prompt starts it: which prompts are scenarios, the environment knows.
    const _meta = withoutProgressToken(request);
    void line.ask('resources/read', { uri: SCENARIOS_URI, _meta }).then((answer) => {
      if (line === this.#current && scenarioNames(answer).includes(name)) this.memory.scenario = name;
    });
  }

  #dropWhenDone(line: Line): void {
    if (line.unanswered.size === 0 && this.#retiring.has(line)) this.#drop(line);
  }

  #askClient(line: Line, request: Request): void {
    const { message, related } = takeRelated(request);
    const id = line.toClientId(request.id);
    this.#send({ ...message, id }, related).catch((error: unknown) => {
      line.asked.delete(id);
      line.send(errorReply(request.id, (error as Error).message));
    });
  }

  #notifyClient(line: Line, notification: Notification): void {
    const { message, related } = takeRelated(notification);
    const params = paramsOf(message);
    if (message.method === 'notifications/cancelled') {
      const requestId = line.clientIdOf(params.requestId);
      if (requestId === undefined) return;
      line.asked.delete(requestId);
      this.#toClient({ ...message, params: { ...params, requestId } } as Notification, related);
    } else if (line.isOwn(metaOf(message)[SUBSCRIPTION_ID])) this.#options.onChanged?.(listOf(message));
    else if (message.method === ACKNOWLEDGED) {
      // When the stream is opened on another process the client knows already.
      if (this.memory.acknowledge(message)) this.#toClient(message);
    }
    // What an old process says of its lists is no longer true; what it says of a call that still runs is.
    else if (line === this.#current || related !== undefined) this.#toClient(message, related);
  }

  /** A child knows of one session: its name is ours. */
  #adapt(request: Request, reply: Reply): Reply {
    const result = resultOf(reply);
    if (result === undefined) return reply;
    const { handle } = this.#options;
    if (handle !== undefined && request.method === 'tools/call' && paramsOf(request).name === 'setup') {
      const _meta = { ...(result._meta as Params | undefined), [META.sessionId]: handle };
      return { ...reply, result: { ...result, _meta } } as Reply;
    }
    return reply;
  }

  /** A client that has gone is told by the end of its connection. */
  #toClient(message: Message, related?: RequestId): void {
    this.#send(message, related).catch(() => {});
  }

  #send(message: Message, relatedRequestId?: RequestId): Promise<void> {
    return this.#front.send(message, relatedRequestId === undefined ? {} : { relatedRequestId });
  }
}
