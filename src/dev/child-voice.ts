import { META, SCENARIOS_URI } from '../contract/names.ts';
import { isNotification, isRequest, type RequestId } from '../mcp/json-rpc.ts';
import type { Line } from './line.ts';
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

export interface ChildVoiceParts {
  readonly memory: SessionMemory;
  /** Where set, the name of the session that `setup` answers. */
  readonly handle: string | undefined;
  /** Sends to the client, in the stream of the request that it belongs to. */
  send(message: Message, related?: RequestId): Promise<void>;
  isCurrent(line: Line): boolean;
  /** A request of the client is answered. */
  onAnswered(line: Line): void;
}

/** Forwards answers, requests and notifications of a session's children to its client. */
export class ChildVoice {
  readonly #parts: ChildVoiceParts;

  constructor(parts: ChildVoiceParts) {
    this.#parts = parts;
  }

  take(line: Line, message: Message): void {
    if (isRequest(message)) this.#ask(line, message);
    else if (isNotification(message)) this.#notify(line, message);
    else if (!line.takeOwn(message)) this.#reply(line, message);
  }

  #reply(line: Line, reply: Reply): void {
    const request = line.unanswered.get(reply.id as RequestId);
    if (request === undefined) return;
    const { memory, isCurrent, onAnswered } = this.#parts;
    line.unanswered.delete(request.id);
    memory.listening.delete(request.id);
    if (isCurrent(line)) this.#learn(line, request, reply);
    this.#tell(this.#adapt(request, reply));
    onAnswered(line);
  }

  #learn(line: Line, request: Request, reply: Reply): void {
    const { memory, isCurrent } = this.#parts;
    memory.learn(request, reply);
    const { name } = paramsOf(request);
    if (request.method !== 'prompts/get' || resultOf(reply) === undefined || typeof name !== 'string') return;
    // A scenario is a prompt too, and getting that prompt starts it: which prompts are scenarios, the environment knows.
    const _meta = withoutProgressToken(request);
    void line.ask('resources/read', { uri: SCENARIOS_URI, _meta }).then((answer) => {
      if (isCurrent(line) && scenarioNames(answer).includes(name)) memory.scenario = name;
    });
  }

  #ask(line: Line, request: Request): void {
    const { message, related } = takeRelated(request);
    const id = line.toClientId(request.id);
    this.#parts.send({ ...message, id }, related).catch((error: unknown) => {
      line.asked.delete(id);
      line.send(errorReply(request.id, (error as Error).message));
    });
  }

  #notify(line: Line, notification: Notification): void {
    const { message, related } = takeRelated(notification);
    const { memory, isCurrent } = this.#parts;
    const params = paramsOf(message);
    if (message.method === 'notifications/cancelled') {
      const requestId = line.clientIdOf(params.requestId);
      if (requestId === undefined) return;
      line.asked.delete(requestId);
      this.#tell({ ...message, params: { ...params, requestId } } as Notification, related);
    } else if (message.method === ACKNOWLEDGED) {
      // When the stream is opened on another process the client knows already.
      if (memory.acknowledge(message)) this.#tell(message);
    }
    // An old process's notifications about lists are outdated; those about a call that still runs are not.
    else if (isCurrent(line) || related !== undefined) this.#tell(message, related);
  }

  /** A child knows of one session: its name is ours. */
  #adapt(request: Request, reply: Reply): Reply {
    const result = resultOf(reply);
    if (result === undefined) return reply;
    const { handle } = this.#parts;
    if (handle !== undefined && request.method === 'tools/call' && paramsOf(request).name === 'setup') {
      const _meta = { ...(result._meta as Params | undefined), [META.sessionId]: handle };
      return { ...reply, result: { ...result, _meta } } as Reply;
    }
    return reply;
  }

  /** A client that has gone is told by the end of its connection. */
  #tell(message: Message, related?: RequestId): void {
    this.#parts.send(message, related).catch(() => {});
  }
}
