import type { Readable, Writable } from 'node:stream';
import {
  type JSONRPCMessage,
  type MessageExtraInfo,
  ProtocolErrorCode,
  parseJSONRPCMessage,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/server';
import { isJsonObject } from '../../contract/json.ts';
import { isTooDeep, MAX_JSON_DEPTH } from '../../contract/json-depth.ts';
import { LineSplitter } from '../../runtime/line-splitter.ts';
import { assertBatchLength, assertBatchRevision, assertFreshIds, Batches, usedId } from '../batches.ts';
import { isReply, isRequest, type RequestId } from '../json-rpc.ts';
import { Refusal } from '../refusal.ts';

/** Characters of one message. */
const MAX_MESSAGE_LENGTH = 64 * 1024 * 1024;
/** How long requests that came before the end of the input may still be answered: `printf … | node environment.js`. */
const DRAIN_MS = 1_000;

/**
 * MCP over a pair of streams, a message a line. The end of the input closes it, once what has been asked before is
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
  /** The session-based revision that was agreed on. */
  #protocol: string | undefined;
  readonly #splitter = new LineSplitter(MAX_MESSAGE_LENGTH, (line, isCut) => {
    if (isCut) this.#fail(new Error('A message of more than 64 MiB'));
    else if (line.trim() !== '') this.#receive(line);
  });
  #isClosed = false;
  #draining: NodeJS.Timeout | undefined;

  /** @param drainMs how long after the end of the input what has been asked before may still be answered. */
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

  /** Told by the SDK when the handshake is answered. */
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
    // An output that breaks from here on is nobody's loss, and must not end the process.
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
    if (received instanceof Refused) this.#refuse(received);
    else if (Array.isArray(received)) this.#receiveBatch(received);
    else this.#receiveOne(received);
  }

  #receiveOne(message: JSONRPCMessage): void {
    if (isRequest(message) && this.#unanswered.has(message.id)) {
      // Two of one id could neither be told apart nor be cancelled. Not under that id, which answers the one that runs.
      this.#refuse(new Refused(null, ProtocolErrorCode.InvalidRequest, usedId(message.id).message));
    } else this.#deliver(message);
  }

  /** Takes a batch as a whole, or refuses it as a whole. */
  #receiveBatch(values: readonly unknown[]): void {
    const messages = values.map(parseMessage);
    const refused = messages.find((message) => message instanceof Refused);
    const batch = messages.filter((message): message is JSONRPCMessage => !(message instanceof Refused));
    try {
      assertBatchRevision(this.#protocol ?? 'without a handshake');
      assertBatchLength(values);
      assertFreshIds(batch, this.#unanswered);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#refuse(new Refused(null, error.code, error.message));
      return;
    }
    if (refused !== undefined) {
      this.#refuse(refused);
      return;
    }
    this.#batches.begin(batch);
    for (const message of batch) this.#deliver(message);
  }

  #refuse({ id, code, reason }: Refused): void {
    // Where the id is unknown the specification of JSON-RPC has null for it, which the SDK's types leave out.
    const refusal = { jsonrpc: '2.0', id, error: { code, message: reason } };
    this.#write(`${JSON.stringify(refusal)}\n`).catch(() => {});
  }

  #deliver(message: JSONRPCMessage): void {
    if (isRequest(message)) this.#unanswered.add(message.id);
    // A cancelled request is not answered.
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

/** The error of a line, and the request that waits for an answer to it. */
class Refused {
  constructor(
    readonly id: RequestId | null,
    readonly code: number,
    readonly reason: string,
  ) {}
}

function parse(line: string): JSONRPCMessage | unknown[] | Refused {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return new Refused(null, ProtocolErrorCode.ParseError, 'Parse error');
  }
  if (isTooDeep(value)) return refuse(value, `nested more than ${MAX_JSON_DEPTH} deep`);
  return Array.isArray(value) ? value : parseMessage(value);
}

function parseMessage(value: unknown): JSONRPCMessage | Refused {
  try {
    return parseJSONRPCMessage(value);
  } catch {
    return refuse(value, 'not a JSON-RPC message');
  }
}

function refuse(value: unknown, problem: string): Refused {
  const id = isJsonObject(value) && 'method' in value ? value.id : null;
  const isId = typeof id === 'string' || typeof id === 'number';
  return new Refused(isId ? id : null, ProtocolErrorCode.InvalidRequest, `Invalid request: ${problem}`);
}
