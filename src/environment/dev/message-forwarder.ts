import { META, SCENARIOS_URI } from '../../contract/names.ts';
import { isNotification, isRequest, type RequestId } from '../server/json-rpc.ts';
import type { ChildConnection } from './child-connection.ts';
import {
  ACKNOWLEDGED,
  errorReply,
  type Message,
  type Notification,
  type Params,
  paramsOf,
  type Reply,
  type Request,
  resultOf,
  takeRelated,
  withoutProgressToken,
} from './messages.ts';
import { type SessionMemory, scenarioNames } from './session-memory.ts';

export interface MessageForwarderParts {
  readonly memory: SessionMemory;
  /** The session id that the result of `setup` contains, if set. */
  readonly handle: string | undefined;
  /** Sends to the client. `related` names the request whose stream is used. */
  send(message: Message, related?: RequestId): Promise<void>;
  isCurrent(connection: ChildConnection): boolean;
  /** Called when a request of the client was answered. */
  onAnswered(connection: ChildConnection): void;
}

/** Forwards answers, requests and notifications from the children of a session to its client. */
export class MessageForwarder {
  readonly #parts: MessageForwarderParts;

  constructor(parts: MessageForwarderParts) {
    this.#parts = parts;
  }

  forward(connection: ChildConnection, message: Message): void {
    if (isRequest(message)) this.#forwardRequest(connection, message);
    else if (isNotification(message)) this.#forwardNotification(connection, message);
    else if (!connection.settleOwn(message)) this.#forwardReply(connection, message);
  }

  #forwardReply(connection: ChildConnection, reply: Reply): void {
    const request = connection.unanswered.get(reply.id as RequestId);
    if (request === undefined) return;
    const { memory, isCurrent, onAnswered } = this.#parts;
    connection.unanswered.delete(request.id);
    memory.listening.delete(request.id);
    if (isCurrent(connection)) this.#learn(connection, request, reply);
    this.#send(this.#withSessionId(request, reply));
    onAnswered(connection);
  }

  #learn(connection: ChildConnection, request: Request, reply: Reply): void {
    const { memory, isCurrent } = this.#parts;
    memory.learn(request, reply);
    const { name } = paramsOf(request);
    if (request.method !== 'prompts/get' || resultOf(reply) === undefined || typeof name !== 'string') return;
    // Each scenario is a prompt too, and getting that prompt starts it. Only the environment knows which prompts are
    // scenarios.
    const _meta = withoutProgressToken(request);
    void connection.ask('resources/read', { uri: SCENARIOS_URI, _meta }).then((answer) => {
      if (isCurrent(connection) && scenarioNames(answer).includes(name)) memory.scenario = name;
    });
  }

  #forwardRequest(connection: ChildConnection, request: Request): void {
    const { message, related } = takeRelated(request);
    const id = connection.toClientId(request.id);
    this.#parts.send({ ...message, id }, related).catch((error: unknown) => {
      connection.openQuestions.delete(id);
      connection.send(errorReply(request.id, (error as Error).message));
    });
  }

  #forwardNotification(connection: ChildConnection, notification: Notification): void {
    const { message, related } = takeRelated(notification);
    const { memory, isCurrent } = this.#parts;
    const params = paramsOf(message);
    if (message.method === 'notifications/cancelled') {
      const requestId = connection.clientIdOf(params.requestId);
      if (requestId === undefined) return;
      connection.openQuestions.delete(requestId);
      this.#send({ ...message, params: { ...params, requestId } } as Notification, related);
    } else if (message.method === ACKNOWLEDGED) {
      // If the stream was reopened on another process, the client has its acknowledgement already.
      if (memory.acknowledge(message)) this.#send(message);
    }
    // Drops notifications of an old process about lists, which are outdated. Those about a running call are sent.
    else if (isCurrent(connection) || related !== undefined) this.#send(message, related);
  }

  /** Adds the session id to the result of `setup`. The child does not know this id. */
  #withSessionId(request: Request, reply: Reply): Reply {
    const result = resultOf(reply);
    if (result === undefined) return reply;
    const { handle } = this.#parts;
    if (handle !== undefined && request.method === 'tools/call' && paramsOf(request).name === 'setup') {
      const _meta = { ...(result._meta as Params | undefined), [META.sessionId]: handle };
      return { ...reply, result: { ...result, _meta } } as Reply;
    }
    return reply;
  }

  /** Errors are ignored: a client that has disconnected needs no message. */
  #send(message: Message, related?: RequestId): void {
    this.#parts.send(message, related).catch(() => {});
  }
}
