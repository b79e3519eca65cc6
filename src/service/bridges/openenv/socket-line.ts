import type { WebSocket } from 'ws';

/** Most messages of one client that wait in line. At this number the socket is paused. */
const MAX_WAITING = 16;
/** Most characters that the waiting messages have together, without the last one. */
const MAX_WAITING_CHARACTERS = 1_048_576;
/** Pings during a reply that the client does not read, before the socket is terminated. */
const MAX_STALLED = 3;

/** The reply to a message: an object that is sent as JSON, and whether the socket closes after it. */
export interface SocketReply {
  readonly body?: object;
  readonly isLast?: boolean;
}

/** Answers one message; a binary message is `undefined`. Never rejects. */
export type Answer = (text: string | undefined) => Promise<SocketReply>;

/**
 * Answers the messages of one socket in order. Each reply is sent before the next message starts, so a client that
 * does not read costs the memory of one reply.
 */
export class SocketLine {
  readonly #socket: WebSocket;
  readonly #answer: Answer;
  readonly #waiting: (string | undefined)[] = [];
  #waitingCharacters = 0;
  #isAnswering = false;
  #isSilent = false;
  #last: object | undefined;
  #isSending = false;
  /** Number of pings since the current reply started. */
  #stalled = 0;

  constructor(socket: WebSocket, answer: Answer) {
    this.#socket = socket;
    this.#answer = answer;
    // A broken frame also closes the socket: `close` handles it.
    socket.on('error', () => {});
    socket.on('pong', () => {
      this.#isSilent = false;
    });
    socket.on('message', (data, isBinary) => {
      this.#isSilent = false;
      if (socket.readyState !== socket.OPEN) return;
      const text = isBinary ? undefined : String(data);
      this.#waiting.push(text);
      this.#waitingCharacters += text?.length ?? 0;
      if (this.#isFull()) socket.pause();
      void this.#run();
    });
  }

  /**
   * Pings the client. Terminates the socket if the last ping had no pong, or if the client does not read its reply:
   * nothing else would end such a socket.
   */
  ping(): void {
    if (this.#isSending) this.#stalled += 1;
    if (this.#stalled >= MAX_STALLED) this.#socket.terminate();
    else if (this.#socket.isPaused) return;
    else if (this.#isSilent) this.#socket.terminate();
    else {
      this.#isSilent = true;
      this.#socket.ping();
    }
  }

  /** Sends a last message and closes the socket, after the reply to the current message. */
  endWith(body: object): void {
    this.#last ??= body;
    if (!this.#isAnswering) this.#close(body);
  }

  async #run(): Promise<void> {
    if (this.#isAnswering) return;
    this.#isAnswering = true;
    while (this.#waiting.length > 0 && this.#socket.readyState === this.#socket.OPEN) {
      const text = this.#waiting.shift();
      this.#waitingCharacters -= text?.length ?? 0;
      const { body, isLast = false } = await this.#answer(text);
      if (this.#socket.isPaused && !this.#isFull()) this.#socket.resume();
      if (body !== undefined) await this.#send(body);
      if (this.#last !== undefined || isLast) {
        this.#close(this.#last);
        break;
      }
    }
    this.#isAnswering = false;
  }

  #isFull(): boolean {
    return this.#waiting.length >= MAX_WAITING || this.#waitingCharacters >= MAX_WAITING_CHARACTERS;
  }

  #close(body: object | undefined): void {
    this.#waiting.length = 0;
    // A paused socket would not notice that the other end closes.
    this.#socket.resume();
    // The last message is sent without waiting for the client to read it.
    if (body !== undefined) void this.#send(body);
    this.#socket.close(body === undefined ? 1_000 : 1_001);
  }

  /** Resolves when the connection has accepted the data, or is closed. */
  async #send(body: object): Promise<void> {
    const text = JSON.stringify(body);
    this.#isSending = true;
    await new Promise<void>((resolve) => this.#socket.send(text, () => resolve()));
    this.#isSending = false;
    this.#stalled = 0;
  }
}
