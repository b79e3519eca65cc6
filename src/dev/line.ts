import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../contract/json.ts';
import type { Child } from './child.ts';
import { isRequest, LISTS, type Message, metaOf, type Reply, type Request, type RequestId } from './messages.ts';

/** Of the keys of `_meta` that belong to the protocol. */
const PROTOCOL_PREFIX = 'io.modelcontextprotocol/';

/**
 * The connection to one child: what was asked of it for the client and is not answered, what it has asked the client, and
 * what is asked of it for ourselves.
 */
export class Line {
  readonly child: Child;
  /** Requests of the client that this child has to answer. */
  readonly unanswered = new Map<RequestId, Request>();
  /** Requests of this child that the client has to answer, by the id that the client knows. */
  readonly asked = new Map<RequestId, RequestId>();
  /** Called when the child ends by itself, while somebody waits for what it does. */
  onEnd: (() => void) | undefined;
  readonly #generation: number;
  #isFollowed = false;
  readonly #own = new Map<RequestId, (reply: Reply) => void>();

  constructor(child: Child, generation: number) {
    this.child = child;
    this.#generation = generation;
  }

  /** Sends without waiting: what becomes of a child that takes no more is told by its end. */
  send(message: Message): void {
    if (isRequest(message)) this.unanswered.set(message.id, message);
    this.child.process.send(message as never).catch(() => {});
  }

  /** Asks for ourselves. Resolves with the reply; never where the child ends first. */
  ask(method: string, params: JsonObject): Promise<Reply> {
    const id = `proctor-dev-${randomUUID()}`;
    const reply = new Promise<Reply>((resolve) => {
      this.#own.set(id, resolve);
    });
    this.child.process.send({ jsonrpc: '2.0', id, method, params } as never).catch(() => {});
    return reply;
  }

  /** True for a reply to what we have asked, which is no business of the client. */
  takeOwn(reply: Reply): boolean {
    const resolve = reply.id === undefined ? undefined : this.#own.get(reply.id as RequestId);
    if (resolve === undefined) return false;
    this.#own.delete(reply.id as RequestId);
    resolve(reply);
    return true;
  }

  /** True for the id of something that we have asked. */
  isOwn(id: unknown): boolean {
    return this.#own.has(id as RequestId);
  }

  /** On 2026-07-28 a child tells changes only on a stream that was asked for: with what a request says of its client. */
  followLists(request: Request): void {
    const _meta = Object.fromEntries(
      Object.entries(metaOf(request)).filter(([key]) => key.startsWith(PROTOCOL_PREFIX)),
    );
    if (this.#isFollowed || Object.keys(_meta).length === 0 || request.method === 'server/discover') return;
    this.#isFollowed = true;
    const notifications = Object.fromEntries(LISTS.map((list) => [`${list}ListChanged`, true]));
    void this.ask('subscriptions/listen', { notifications, _meta: _meta as JsonObject });
  }

  /** The id under which the client is asked: two children count from the same number. */
  toClientId(id: RequestId): RequestId {
    const known = JSON.stringify([this.#generation, id]);
    this.asked.set(known, id);
    return known;
  }

  clientIdOf(id: unknown): RequestId | undefined {
    return [...this.asked].find(([, own]) => own === id)?.[0];
  }
}
