import { connect, type Socket } from 'node:net';
import { type JSONRPCMessage, serializeMessage, type Transport } from '@modelcontextprotocol/client';
import { type HostedSession, PRINTED_METHOD, SHUTDOWN_METHOD } from '../../contract/host.ts';
import { isJsonObject } from '../../contract/json.ts';
import { SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import type { LogRecord } from '../../contract/service/trace.ts';
import { sleep } from '../../support/runtime/backoff.ts';
import { endsWithin } from '../../support/runtime/deadline.ts';
import { LineSplitter } from '../../support/runtime/line-splitter.ts';
import { loopSlices } from '../../support/runtime/loop-slices.ts';
import { OutputTail, toPlainLine } from './output-tail.ts';
import { parseMessage } from './parse-message.ts';

/** Maximum number of characters of one message. */
const MAX_MESSAGE_LENGTH = 64 * 1024 * 1024;
/**
 * Number of attempts to connect, and milliseconds between them. A socket refuses connections while its queue is full.
 */
const CONNECT = { tries: 200, everyMs: 10 } as const;
/** Milliseconds to wait for the host's own report after a connection has closed. */
const DRAIN_MS = 1_000;

export interface HostedSessionOptions {
  /** The name of the session, unique in this host. It appears in reports and is not a secret. */
  readonly session: string;
  /** The key of this session. Other sessions do not know it. */
  readonly harnessKey: string;
  /** Receives the lines that the code of this session prints. */
  readonly onLog?: ((record: Omit<LogRecord, 'at'>) => void) | undefined;
  /** Called when the session is closed. True means that its shutdown hooks run. Default: they do not run. */
  readonly isShuttingDown?: (() => boolean) | undefined;
}

export interface HostAddress {
  readonly socket: string;
  readonly secret: string;
  /** Folders that are removed from paths in the last output. */
  readonly folders: readonly string[];
  /** Resolves when the host has ended. Never rejects. */
  readonly gone: Promise<unknown>;
  /** The way the host ended, as this session may learn it. Undefined while the host runs. */
  endingFor(session: string): string | undefined;
}

/**
 * An MCP transport to one session of a host. `close` ends the session and resolves when its close hooks have run, or
 * their time limit is over.
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

  /**
   * The way the session ended without a request to end it. The text continues "The environment …". Undefined while it
   * runs.
   */
  get ending(): string | undefined {
    const lost = this.#isLost ? 'closed the connection of this session' : undefined;
    return this.#failure ?? this.#host.endingFor(this.#options.session) ?? lost;
  }

  /** The last lines that the session's code printed, which only the developer may see. Empty if there are none. */
  get lastWords(): string {
    return this.#tail.text();
  }

  /** @throws Error if the host accepts no connection. */
  async start(): Promise<void> {
    if (this.#ending !== undefined) throw new Error('The connection was closed before it was opened');
    const socket = await this.#connect();
    if (this.#ending !== undefined) {
      // The session was closed meanwhile and has lost its place, so it must not begin.
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
    // The first request follows at once, so both are sent in one write.
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
    // Usually the host has died. Wait for its report, because that explains the error better.
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
    const isShuttingDown = this.#options.isShuttingDown?.() === true;
    if (isShuttingDown) this.#socket?.write(serializeMessage({ jsonrpc: '2.0', method: SHUTDOWN_METHOD }));
    this.#socket?.end();
    // Close hooks may still print lines. The limit keeps a host that hangs from blocking the caller.
    const isGone = await endsWithin(this.#gone, SHUTDOWN_GRACE_MS.environment + DRAIN_MS);
    if (!isGone) this.#socket?.destroy();
    await this.#announce();
  }

  /** Handles received text in a slice of the event loop. Reading is paused until then. */
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

  /** Announces the end of the connection. If it was not closed by us, waits for the reason first. */
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
