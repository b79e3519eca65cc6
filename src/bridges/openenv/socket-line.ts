import type { WebSocket } from 'ws';

/** Messages of a client that wait for those before them. A client that sends more is not read from meanwhile. */
const MAX_WAITING = 16;
/** Characters that they may have in all, but for the last. */
const MAX_WAITING_CHARACTERS = 1_048_576;
/** Pings while a client takes nothing of a reply, after which it is cut off. */
const MAX_STALLED = 3;

/** The answer to a message: an object that is sent as JSON, and whether the socket is closed after it. */
export interface SocketReply {
  readonly body?: object;
  readonly isLast?: boolean;
}

/** The reply to one message; `undefined` in place of the text of a binary one. It never rejects. */
export type Answer = (text: string | undefined) => Promise<SocketReply>;

/**
 * Answers the messages of one socket in their order. Each reply is handed over before the next message is begun, so that a
 * client that does not read has one reply of its own in memory and no more.
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
  /** Pings since the reply that is being sent was begun. */
  #stalled = 0;

  constructor(socket: WebSocket, answer: Answer) {
    this.#socket = socket;
    this.#answer = answer;
    // A broken frame closes the socket, which is told by `close`.
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
   * Asks whether the other end is there; one that has not answered since the last time is cut off, and so is one that does
   * not read: nothing else ends a socket whose reply is never taken.
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

  /** Closes the socket with a last message, once the message that is being answered has its reply. */
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
    // A socket that is not read from would not see the other end close.
    this.#socket.resume();
    // A client that does not read its last message is not waited for.
    if (body !== undefined) void this.#send(body);
    this.#socket.close(body === undefined ? 1_000 : 1_001);
  }

  /** Resolves when the connection has taken it, or is gone. */
  async #send(body: object): Promise<void> {
    const text = JSON.stringify(body);
    this.#isSending = true;
    await new Promise<void>((resolve) => this.#socket.send(text, () => resolve()));
    this.#isSending = false;
    this.#stalled = 0;
  }
}
