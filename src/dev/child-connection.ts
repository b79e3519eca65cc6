import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../contract/json.ts';
import { isRequest, type RequestId } from '../mcp/json-rpc.ts';
import type { Child } from './child.ts';
import type { Message, Reply, Request } from './messages.ts';

/**
 * The connection to one child: what was asked of it for the client and is not answered, what it has asked the client, and
 * what is asked of it for ourselves.
 */
export class ChildConnection {
  readonly child: Child;
  /** Requests of the client that this child has to answer. */
  readonly unanswered = new Map<RequestId, Request>();
  /** Requests of this child that the client has to answer, by the id that the client knows. */
  readonly openQuestions = new Map<RequestId, RequestId>();
  /** Called when the child ends by itself, while somebody waits for what it does. */
  onEnd: (() => void) | undefined;
  readonly #generation: number;
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
  settleOwn(reply: Reply): boolean {
    const resolve = reply.id === undefined ? undefined : this.#own.get(reply.id as RequestId);
    if (resolve === undefined) return false;
    this.#own.delete(reply.id as RequestId);
    resolve(reply);
    return true;
  }

  /** The id under which the client is asked: two children count from the same number. */
  toClientId(id: RequestId): RequestId {
    const known = JSON.stringify([this.#generation, id]);
    this.openQuestions.set(known, id);
    return known;
  }

  clientIdOf(id: unknown): RequestId | undefined {
    return [...this.openQuestions].find(([, own]) => own === id)?.[0];
  }
}
