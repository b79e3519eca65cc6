import type { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { isJsonObject, type Json, type JsonObject } from '../contract/json.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { LineSplitter } from '../runtime/line-splitter.ts';

/** Characters of one message: agents send whole files. */
const MAX_MESSAGE_LENGTH = 128 * 1_024 * 1_024;
const METHOD_NOT_FOUND = -32_601;
const INTERNAL_ERROR = -32_603;

/** An error that the other side answered with. */
export class RpcError extends Error {
  override readonly name = 'RpcError';

  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

export interface RpcHandlers {
  /** @returns the result; undefined for a method that there is not. */
  onRequest(method: string, params: JsonObject): Json | undefined;
  onNotification(method: string, params: JsonObject): void;
}

/** JSON-RPC 2.0 over two streams, one message a line, with a process that may send anything. */
export class JsonRpcLines {
  readonly #output: Writable;
  readonly #handlers: RpcHandlers;
  readonly #decoder = new StringDecoder('utf8');
  readonly #splitter = new LineSplitter(MAX_MESSAGE_LENGTH, (line, isCut) => this.#receive(line, isCut));
  readonly #waiting = new Map<number, { resolve(result: Json): void; reject(error: Error): void }>();
  #closed: Error | undefined;
  #lastId = 0;

  constructor(output: Writable, handlers: RpcHandlers) {
    this.#output = output;
    this.#handlers = handlers;
  }

  /** Takes what the other side has written. */
  read(chunk: Buffer): void {
    this.#splitter.push(this.#decoder.write(chunk));
  }

  /** Fails the requests that wait, and all that come. */
  close(cause: Error): void {
    this.#closed ??= cause;
    for (const { reject } of this.#waiting.values()) reject(cause);
    this.#waiting.clear();
  }

  /**
   * @param limit milliseconds; without it the signal alone ends the wait.
   * @throws RpcError with which it was answered; DeadlineError; the reason of the signal; what it was closed with.
   */
  async request(
    method: string,
    params: JsonObject,
    { signal, ms }: { readonly signal: AbortSignal; readonly ms?: number },
  ): Promise<Json> {
    if (this.#closed !== undefined) throw this.#closed;
    this.#lastId += 1;
    const id = this.#lastId;
    const answered = new Promise<Json>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    answered.catch(() => {}); // Whoever waits hears of it, unless its time was over.
    this.#send({ id, method, params });
    const toError = (time: string) => new Error(`It did not answer ${method} within ${time}`);
    try {
      return await withDeadline(() => answered, { signal, ms, toError });
    } finally {
      this.#waiting.delete(id);
    }
  }

  notify(method: string, params: JsonObject): void {
    this.#send({ method, params });
  }

  #send(message: JsonObject): void {
    if (this.#output.writable) this.#output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  #receive(line: string, isCut: boolean): void {
    if (isCut) {
      this.close(new Error(`It sent a message of more than ${MAX_MESSAGE_LENGTH} characters`));
      return;
    }
    const message = parse(line);
    // What an agent prints beside its messages is in the log.
    if (message === undefined) return;
    const { id, method } = message;
    const params = isJsonObject(message.params) ? message.params : {};
    if (typeof method !== 'string') this.#settle(message);
    else if (typeof id === 'string' || typeof id === 'number') this.#answer(id, method, params);
    else this.#handlers.onNotification(method, params);
  }

  #answer(id: string | number, method: string, params: JsonObject): void {
    const result = this.#handlers.onRequest(method, params);
    const error = { code: METHOD_NOT_FOUND, message: `There is no method ${method}` };
    this.#send(result === undefined ? { id, error } : { id, result });
  }

  #settle({ id, result, error }: JsonObject): void {
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined;
    if (waiting === undefined) return;
    if (isJsonObject(error)) {
      const code = typeof error.code === 'number' ? error.code : INTERNAL_ERROR;
      waiting.reject(new RpcError(code, typeof error.message === 'string' ? error.message : 'it gave no reason'));
    } else waiting.resolve(result ?? null);
  }
}

function parse(line: string): JsonObject | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
