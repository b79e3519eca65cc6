import type { Readable, Writable } from 'node:stream';
import {
  type JSONRPCMessage,
  type MessageExtraInfo,
  ProtocolErrorCode,
  parseJSONRPCMessage,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/server';
import { isJsonObject } from '../../../contract/json.ts';
import { isNestedDeeper, MAX_JSON_DEPTH } from '../../../contract/json-depth.ts';
import { LineSplitter } from '../../../support/runtime/line-splitter.ts';
import { assertBatchLength, assertBatchRevision, assertFreshIds, Batches, usedId } from '../batches.ts';
import { isReply, isRequest, type RequestId } from '../json-rpc.ts';
import { Refusal } from '../refusal.ts';

/** Maximum number of characters of one message. */
const MAX_MESSAGE_LENGTH = 64 * 1024 * 1024;
/** Milliseconds to answer earlier requests after the end of the input, as in `printf … | node environment.js`. */
const DRAIN_MS = 1_000;

/**
 * MCP over a pair of streams, with one message per line. After the end of the input it closes when earlier requests are
 * answered or the time for that is over.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;

  readonly #input: Readable;
  readonly #output: Writable;
  readonly #drainMs: number;
  readonly #unanswered = new Set<RequestId>();
  readonly #batches = new Batches();
  /** The protocol revision in use, if it has sessions. */
  #protocol: string | undefined;
  readonly #splitter = new LineSplitter(MAX_MESSAGE_LENGTH, (line, isCut) => {
    if (isCut) this.#fail(new Error('A message of more than 64 MiB'));
    else if (line.trim() !== '') this.#receive(line);
  });
  #isClosed = false;
  #draining: NodeJS.Timeout | undefined;

  /** @param drainMs limits the time to answer earlier requests after the end of the input, in milliseconds. */
  constructor(input: Readable, output: Writable, drainMs: number = DRAIN_MS) {
    this.#input = input;
    this.#output = output;
    this.#drainMs = drainMs;
  }

  async start(): Promise<void> {
    this.#input.setEncoding('utf8');
    this.#input.on('data', this.#read);
    this.#input.once('end', this.#drain);
    this.#input.once('close', this.#drain);
    this.#input.once('error', this.#fail);
    this.#output.once('error', this.#fail);
    if (this.#input.readableEnded || this.#input.destroyed) setImmediate(this.#drain);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const answer = isReply(message) ? message.id : undefined;
    if (answer === undefined) return this.#write(serializeMessage(message));
    const ready = this.#batches.take(answer, message);
    if (ready !== undefined) await this.#write(`${JSON.stringify(ready)}\n`);
    this.#settle(answer);
  }

  /** Called by the SDK when the handshake is answered. */
  setProtocolVersion(version: string): void {
    this.#protocol = version;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#draining);
    this.#input.off('data', this.#read);
    this.#input.off('end', this.#drain);
    this.#input.off('close', this.#drain);
    this.#input.pause();
    // Errors of the output no longer matter here, but must not end the process.
    this.#output.on('error', () => {});
    this.onclose?.();
  }

  readonly #read = (chunk: string): void => this.#splitter.push(chunk);

  #write(line: string): Promise<void> {
    if (this.#isClosed) return Promise.reject(new Error('The connection is closed'));
    return new Promise<void>((resolve, reject) => {
      this.#output.write(line, (error) => (error ? reject(error) : resolve()));
    });
  }

  #receive(line: string): void {
    const received = parse(line);
    if (received instanceof LineError) this.#refuse(received);
    else if (Array.isArray(received)) this.#receiveBatch(received);
    else this.#receiveOne(received);
  }

  #receiveOne(message: JSONRPCMessage): void {
    if (isRequest(message) && this.#unanswered.has(message.id)) {
      // Two requests with one id could not be told apart. The refusal has no id, because the id belongs to the running
      // request.
      this.#refuse(new LineError(null, ProtocolErrorCode.InvalidRequest, usedId(message.id).message));
    } else this.#deliver(message);
  }

  /** Accepts or refuses a batch as a whole. */
  #receiveBatch(values: readonly unknown[]): void {
    const messages = values.map(parseMessage);
    const refused = messages.find((message) => message instanceof LineError);
    const batch = messages.filter((message): message is JSONRPCMessage => !(message instanceof LineError));
    try {
      assertBatchRevision(this.#protocol ?? 'without a handshake');
      assertBatchLength(values);
      assertFreshIds(batch, this.#unanswered);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#refuse(new LineError(null, error.code, error.message));
      return;
    }
    if (refused !== undefined) {
      this.#refuse(refused);
      return;
    }
    this.#batches.begin(batch);
    for (const message of batch) this.#deliver(message);
  }

  #refuse({ id, code, reason }: LineError): void {
    // If the id is unknown, JSON-RPC requires null, which the SDK's types do not allow.
    const refusal = { jsonrpc: '2.0', id, error: { code, message: reason } };
    this.#write(`${JSON.stringify(refusal)}\n`).catch(() => {});
  }

  #deliver(message: JSONRPCMessage): void {
    if (isRequest(message)) this.#unanswered.add(message.id);
    // A cancelled request gets no reply.
    else if ('method' in message && message.method === 'notifications/cancelled') {
      this.#cancelled(message.params?.requestId as RequestId);
    }
    this.onmessage?.(message);
  }

  #cancelled(id: RequestId): void {
    const ready = this.#batches.cancel(id);
    if (ready !== undefined) this.#write(`${JSON.stringify(ready)}\n`).catch(() => {});
    this.#settle(id);
  }

  #settle(id: RequestId): void {
    this.#unanswered.delete(id);
    if (this.#draining !== undefined && this.#unanswered.size === 0) void this.close();
  }

  readonly #drain = (): void => {
    if (this.#isClosed || this.#draining !== undefined) return;
    if (this.#unanswered.size === 0 || this.#drainMs === 0) void this.close();
    else this.#draining = setTimeout(() => void this.close(), this.#drainMs);
  };

  readonly #fail = (error: Error): void => {
    this.onerror?.(error);
    void this.close();
  };
}

/** The error of a line, and the id of the request that it answers. */
class LineError {
  constructor(
    readonly id: RequestId | null,
    readonly code: number,
    readonly reason: string,
  ) {}
}

function parse(line: string): JSONRPCMessage | unknown[] | LineError {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return new LineError(null, ProtocolErrorCode.ParseError, 'Parse error');
  }
  // The JSON parser does not recurse. Only the id of a refused message is read.
  if (isNestedDeeper(line)) return refuse(value, `nested more than ${MAX_JSON_DEPTH} deep`);
  return Array.isArray(value) ? value : parseMessage(value);
}

function parseMessage(value: unknown): JSONRPCMessage | LineError {
  try {
    return parseJSONRPCMessage(value);
  } catch {
    return refuse(value, 'not a JSON-RPC message');
  }
}

function refuse(value: unknown, problem: string): LineError {
  const id = isJsonObject(value) && 'method' in value ? value.id : null;
  const isId = typeof id === 'string' || typeof id === 'number';
  return new LineError(isId ? id : null, ProtocolErrorCode.InvalidRequest, `Invalid request: ${problem}`);
}
