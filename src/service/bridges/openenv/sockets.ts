import type { WebSocket } from 'ws';
import { ApiError } from '../../../contract/errors.ts';
import { isJsonObject, type JsonObject } from '../../../contract/json.ts';
import { parseJson } from '../../../support/http/api/body.ts';
import { type KeepAlive, startKeepAlive } from '../../../support/runtime/keep-alive.ts';
import { PERIODS_MS } from '../../../support/runtime/periods.ts';
import { actionSchema, messageSchemas, parse } from './messages.ts';
import { toStepResult, toToolsResult } from './observation.ts';
import { OpenEnvError } from './openenv-error.ts';
import { answerRpc, errorReply, parseErrorReply, type RpcContext } from './rpc.ts';
import { EXPIRED, type OpenEnvSession } from './session.ts';
import { SocketLine, type SocketReply } from './socket-line.ts';

export interface OpenEnvSocketsOptions extends Omit<RpcContext, 'own'> {
  /** For tests: milliseconds between two pings. */
  readonly pingEveryMs?: number | undefined;
}

/** Paths of sockets. `/ws` has messages of the protocol, `/mcp` has JSON-RPC. */
type Path = '/ws' | '/mcp';

/** The sockets of a server. Each has a session that ends with it. The creator closes it. */
export class OpenEnvSockets {
  readonly #options: OpenEnvSocketsOptions;
  readonly #lines = new Set<SocketLine>();
  readonly #pings: KeepAlive;

  constructor(options: OpenEnvSocketsOptions) {
    this.#options = options;
    this.#pings = startKeepAlive(() => {
      for (const line of this.#lines) line.ping();
    }, options.pingEveryMs ?? PERIODS_MS.pings);
  }

  /** Accepts a new socket at a path. */
  open(path: Path, socket: WebSocket): void {
    let session: OpenEnvSession;
    try {
      session = this.#options.sessions.open();
    } catch (thrown) {
      new SocketLine(socket, async () => ({})).endWith(toErrorBody(path, this.#options.toError(thrown)));
      return;
    }
    const context = { ...this.#options, own: session };
    const line = new SocketLine(socket, (text) =>
      path === '/ws' ? answerText(text, context) : answerRpcText(text, context),
    );
    this.#lines.add(line);
    socket.once('close', () => {
      this.#lines.delete(line);
      void session.end();
    });
    session.ended.addEventListener('abort', () => {
      if (session.ended.reason === EXPIRED) line.endWith(toErrorBody(path, IDLE));
    });
  }

  /** Closes all sockets, each after the reply to its current message. */
  close(): void {
    this.#pings.stop();
    const body = toErrorBody('/ws', new OpenEnvError('SESSION_ERROR', 'The server is shutting down.'));
    for (const line of this.#lines) line.endWith(body);
  }
}

const IDLE = new OpenEnvError('SESSION_ERROR', 'The session has ended: nothing was heard of its client for too long.');

function toErrorBody(path: Path, error: OpenEnvError): object {
  if (path === '/mcp') return errorReply(error);
  return { type: 'error', data: { message: error.message, code: error.code, ...error.details } };
}

type SocketContext = RpcContext & { readonly own: OpenEnvSession };

async function answerText(text: string | undefined, context: SocketContext): Promise<SocketReply> {
  try {
    return await answerMessage(readMessage(text), context);
  } catch (thrown) {
    const error = context.toError(thrown);
    return { body: toErrorBody('/ws', error), isLast: error.code === 'SESSION_ERROR' };
  }
}

/** @throws OpenEnvError */
function readMessage(text: string | undefined): JsonObject {
  const message = text === undefined ? undefined : readJson(text);
  // The reference server of the protocol sends this code too.
  if (!isJsonObject(message)) throw new OpenEnvError('SESSION_ERROR', 'A message has to be a JSON object, as text.');
  return message;
}

function readJson(text: string): unknown {
  try {
    return parseJson(text, 'message');
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown;
    if (thrown.code === 'invalid_json') throw new OpenEnvError('INVALID_JSON', thrown.message);
    throw new OpenEnvError('VALIDATION_ERROR', thrown.message, { errors: [] });
  }
}

async function answerMessage(message: JsonObject, context: SocketContext): Promise<SocketReply> {
  const { own } = context;
  switch (message.type) {
    case 'reset': {
      const { data } = parse(messageSchemas.reset, message);
      return toObservation(await own.reset(data));
    }
    case 'step': {
      const { data } = parse(messageSchemas.step, message);
      return toObservation(await takeStep(own, data));
    }
    case 'state':
      parse(messageSchemas.state, message);
      return { body: { type: 'state', data: own.state() } };
    case 'close':
      parse(messageSchemas.close, message);
      return { isLast: true };
    case 'mcp': {
      const { data } = parse(messageSchemas.mcp, message);
      return { body: { type: 'mcp', data: await answerRpc(data, context) } };
    }
    default: {
      const type = typeof message.type === 'string' ? message.type : '';
      throw new OpenEnvError('UNKNOWN_TYPE', `Unknown message type: ${type.slice(0, 100)}`);
    }
  }
}

/** @param data of a step: the action itself. @throws OpenEnvError */
async function takeStep(session: OpenEnvSession, data: JsonObject): Promise<object> {
  const action = parse(actionSchema, data);
  if (action.type === 'list_tools') return toToolsResult(await session.tools(), session.isOver);
  const { tool_name, arguments: args, timeout_s } = action;
  return toStepResult(tool_name, await session.step(tool_name, args, timeout_s ?? null));
}

function toObservation(result: object): SocketReply {
  return { body: { type: 'observation', data: result } };
}

async function answerRpcText(text: string | undefined, context: SocketContext): Promise<SocketReply> {
  try {
    return { body: await answerRpc(text === undefined ? undefined : readJson(text), context) };
  } catch {
    return { body: parseErrorReply() };
  }
}
