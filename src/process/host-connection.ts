import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type JSONRPCMessage, serializeMessage, type Transport } from '@modelcontextprotocol/client';
import { type HostedSession, PRINTED_METHOD } from '../contract/host.ts';
import { isJsonObject } from '../contract/json.ts';
import { SHUTDOWN_GRACE_MS } from '../contract/names.ts';
import type { LogRecord } from '../contract/trace.ts';
import { endsWithin } from '../runtime/deadline.ts';
import { LineSplitter } from '../runtime/line-splitter.ts';
import { loopSlices } from '../runtime/loop-slices.ts';
import { OutputTail, toPlainLine } from './output-tail.ts';
import { parseMessage } from './parse-message.ts';

/** Characters of one message. */
const MAX_MESSAGE_LENGTH = 64 * 1024 * 1024;
/** A socket whose line of connections is full refuses at once: how often, and how long after another, one tries again. */
const CONNECT = { tries: 200, everyMs: 10 } as const;
/** How long the host may take to say how it ended, once its connection has. */
const DRAIN_MS = 1_000;

export interface HostedSessionOptions {
  /** The name of the session, its own in this host. Reports repeat it. No secret. */
  readonly session: string;
  /** The key of this session alone: no neighbour knows it. */
  readonly harnessKey: string;
  /** Takes the lines that the code of this session prints. */
  readonly onLog?: ((record: Omit<LogRecord, 'at'>) => void) | undefined;
}

export interface HostAddress {
  readonly socket: string;
  readonly secret: string;
  /** Folders that the paths of the last words are shown relative to. */
  readonly folders: readonly string[];
  /** Resolves when the host is gone. Never rejects. */
  readonly gone: Promise<unknown>;
  /** How the host ended, as the session of that name is told it; undefined while it runs. */
  endingFor(session: string): string | undefined;
}

/**
 * An MCP transport whose other end is one session of a host. `close` ends the session and resolves when its close hooks
 * have run, or their budget is over.
 */
export class HostConnection implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #host: HostAddress;
  readonly #options: HostedSessionOptions;
  readonly #tail: OutputTail;
  readonly #splitter = new LineSplitter(MAX_MESSAGE_LENGTH, (line, isCut) => this.#receive(line, isCut));
  #socket: Socket | undefined;
  #gone: Promise<void> = Promise.resolve();
  #failure: string | undefined;
  #isLost = false;
  #isAnnounced = false;
  #ending: Promise<void> | undefined;

  constructor(host: HostAddress, options: HostedSessionOptions) {
    this.#host = host;
    this.#options = options;
    this.#tail = new OutputTail(host.folders);
  }

  /** How its session ended without being asked to, in words that continue "The environment …". Undefined while it runs. */
  get ending(): string | undefined {
    const lost = this.#isLost ? 'closed the connection of this session' : undefined;
    return this.#failure ?? this.#host.endingFor(this.#options.session) ?? lost;
  }

  /** The last lines that the code of the session printed, for the developer alone; empty where there are none. */
  get lastWords(): string {
    return this.#tail.text();
  }

  /** @throws Error where the host takes no connection. */
  async start(): Promise<void> {
    if (this.#ending !== undefined) throw new Error('The connection was closed before it was opened');
    const socket = await this.#connect();
    if (this.#ending !== undefined) {
      // Its place has been given up meanwhile: a session that nobody knows must not begin.
      socket.destroy();
      throw new Error('The connection was closed while it was opened');
    }
    this.#socket = socket;
    this.#gone = new Promise((resolve) => {
      socket.once('close', () => {
        loopSlices.run(() => {
          resolve();
          void this.#announce();
        });
      });
    });
    socket.on('error', (error) => this.onerror?.(error));
    socket.setEncoding('utf8').on('data', (text: string) => this.#take(socket, text));
    const { session, harnessKey: harness_key } = this.#options;
    const opening: HostedSession = { session, harness_key };
    // The first request follows at once: both are one write.
    socket.cork();
    setImmediate(() => socket.uncork());
    socket.write(`${this.#host.secret}\n${JSON.stringify(opening)}\n`);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const socket = this.#socket;
    const error = await new Promise<Error | null | undefined>((resolve) => {
      if (socket?.writable) socket.write(serializeMessage(message), resolve);
      else resolve(new Error('The session takes no more requests'));
    });
    if (!error) return;
    // As a rule the host has died. How, is the better answer.
    await endsWithin(this.#host.gone, DRAIN_MS);
    throw error;
  }

  close(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #connect(): Promise<Socket> {
    for (let left: number = CONNECT.tries; ; left -= 1) {
      try {
        return await connectOnce(this.#host.socket);
      } catch (error) {
        const isBusy = error instanceof Error && 'code' in error && error.code === 'EAGAIN';
        if (!isBusy || left === 0) throw error;
        await sleep(CONNECT.everyMs);
      }
    }
  }

  async #end(): Promise<void> {
    this.#socket?.end();
    // Lines that its close hooks print still come. A host that hangs keeps nobody.
    const isGone = await endsWithin(this.#gone, SHUTDOWN_GRACE_MS.environment + DRAIN_MS);
    if (!isGone) this.#socket?.destroy();
    await this.#announce();
  }

  /** Nothing more is read meanwhile. */
  #take(socket: Socket, text: string): void {
    let isTaken = false;
    loopSlices.run(() => {
      isTaken = true;
      this.#splitter.push(text);
      if (socket.isPaused()) socket.resume();
    });
    if (!isTaken) socket.pause();
  }

  #receive(line: string, isCut: boolean): void {
    if (isCut) {
      this.#failure = `sent a message of more than ${MAX_MESSAGE_LENGTH / 1024 / 1024} MiB`;
      this.#socket?.destroy();
      return;
    }
    const message = parseMessage(line);
    if (message === undefined) this.onerror?.(new Error('A line of the connection is not a message of the protocol'));
    else if ('method' in message && message.method === PRINTED_METHOD) this.#log(message.params);
    else if (this.#ending === undefined) this.onmessage?.(message);
  }

  #log(params: unknown): void {
    const line = isJsonObject(params) ? params.line : undefined;
    const message = toPlainLine(typeof line === 'string' ? line : '', this.#options.harnessKey);
    if (message === '') return;
    this.#tail.add(message);
    this.#options.onLog?.({ level: 'info', logger: 'environment', message });
  }

  /** The connection is over. Where nobody asked for that, first finds out why. */
  async #announce(): Promise<void> {
    if (this.#isAnnounced) return;
    this.#isAnnounced = true;
    if (this.#ending === undefined) {
      this.#isLost = true;
      await endsWithin(this.#host.gone, DRAIN_MS);
    }
    this.#splitter.end();
    this.onclose?.();
  }
}

function connectOnce(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}
