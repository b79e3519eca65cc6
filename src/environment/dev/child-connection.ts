import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../contract/json.ts';
import { isRequest, type RequestId } from '../server/json-rpc.ts';
import type { Child } from './child.ts';
import type { Message, Reply, Request } from './messages.ts';

/**
 * The connection to one child process. It keeps the open requests: those of the client to the child, those of the child
 * to the client, and our own to the child.
 */
export class ChildConnection {
  readonly child: Child;
  /** Requests of the client that this child has not answered yet. */
  readonly unanswered = new Map<RequestId, Request>();
  /** Requests of this child that the client has not answered yet, by the id that the client sees. */
  readonly openQuestions = new Map<RequestId, RequestId>();
  /** Called if the child ends by itself while a reply is awaited. */
  onEnd: (() => void) | undefined;
  readonly #generation: number;
  readonly #own = new Map<RequestId, (reply: Reply) => void>();

  constructor(child: Child, generation: number) {
    this.child = child;
    this.#generation = generation;
  }

  /** Sends a message without waiting. Errors are ignored, because the end of the child is reported anyway. */
  send(message: Message): void {
    if (isRequest(message)) this.unanswered.set(message.id, message);
    this.child.process.send(message as never).catch(() => {});
  }

  /** Sends a request of our own. Resolves with the reply; never resolves if the child ends first. */
  ask(method: string, params: JsonObject): Promise<Reply> {
    const id = `proctor-dev-${randomUUID()}`;
    const reply = new Promise<Reply>((resolve) => {
      this.#own.set(id, resolve);
    });
    this.child.process.send({ jsonrpc: '2.0', id, method, params } as never).catch(() => {});
    return reply;
  }

  /** Handles a reply to a request of our own, which the client must not see. Returns false for other replies. */
  settleOwn(reply: Reply): boolean {
    const resolve = reply.id === undefined ? undefined : this.#own.get(reply.id as RequestId);
    if (resolve === undefined) return false;
    this.#own.delete(reply.id as RequestId);
    resolve(reply);
    return true;
  }

  /**
   * The id of a child's request as the client sees it. It has to be changed because the ids of two children may be
   * equal.
   */
  toClientId(id: RequestId): RequestId {
    const known = JSON.stringify([this.#generation, id]);
    this.openQuestions.set(known, id);
    return known;
  }

  clientIdOf(id: unknown): RequestId | undefined {
    return [...this.openQuestions].find(([, own]) => own === id)?.[0];
  }
}
