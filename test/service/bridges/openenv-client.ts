import { once } from 'node:events';
import { type ClientOptions, WebSocket } from 'ws';
import { send } from '../../support/http/http-server.ts';

export interface Message {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** One socket of a client: messages out, and the replies in their order. */
export interface OpenEnvSocket {
  readonly socket: WebSocket;
  /** Sends an object as JSON; a text as it is. */
  post(message: object | string): void;
  /** The next reply. @throws Error with the close code where there is none any more. */
  next<Reply = Message>(): Promise<Reply>;
  ask<Reply = Message>(message: object | string): Promise<Reply>;
  reset(data?: object): Promise<Message>;
  call(tool_name: string, args?: object, more?: object): Promise<Message>;
  /** Resolves with the close code once it is closed. */
  readonly closed: Promise<number>;
}

/** As the client of the protocol connects. @throws Error with the status of a refusal. */
export async function connectOpenEnv(url: string, path = '/ws', options: ClientOptions = {}): Promise<OpenEnvSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, options);
  const replies: string[] = [];
  const waiting: { resolve(text: string): void; reject(error: Error): void }[] = [];
  let code: number | undefined;
  const closed = new Promise<number>((resolve) => {
    socket.once('close', (closeCode) => {
      code = closeCode;
      for (const each of waiting.splice(0)) each.reject(gone(closeCode));
      resolve(closeCode);
    });
  });
  socket.on('message', (data) => {
    const first = waiting.shift();
    if (first === undefined) replies.push(String(data));
    else first.resolve(String(data));
  });
  await once(socket, 'open');
  socket.on('error', () => {}); // Told by `close`.
  const read = async () => {
    const text = replies.shift();
    if (text !== undefined) return text;
    if (code !== undefined) throw gone(code);
    return await new Promise<string>((resolve, reject) => waiting.push({ resolve, reject }));
  };
  const post = (message: object | string) => {
    socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  };
  const next = async <Reply>() => JSON.parse(await read()) as Reply;
  const ask = async <Reply = Message>(message: object | string): Promise<Reply> => {
    post(message);
    return await next<Reply>();
  };
  return {
    socket,
    post,
    next,
    ask,
    reset: (data = {}) => ask({ type: 'reset', data }),
    call: (tool_name, args = {}, more = {}) =>
      ask({ type: 'step', data: { type: 'call_tool', tool_name, arguments: args, ...more } }),
    closed,
  };
}

function gone(code: number): Error {
  return new Error(`The socket was closed with ${code}`);
}

export interface RpcAnswer {
  readonly id: unknown;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** JSON-RPC over HTTP, as the client of the protocol sends it. */
export async function askRpc(url: string, method: string, params: object = {}, headers = {}): Promise<RpcAnswer> {
  const body = JSON.stringify({ jsonrpc: '2.0', method, params, id: 1 });
  const reply = await send(url, '/mcp', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  return reply.json as RpcAnswer;
}
