import { withDeadline } from '../runtime/deadline.ts';
import { startKeepAlive } from '../runtime/keep-alive.ts';
import { shuttingDown } from './api/errors.ts';
import type { RouteReply, RouteRequest } from './api/route.ts';
import { type HttpLog, toErrorReply } from './request-log.ts';
import { TextStream } from './text-stream.ts';

export interface WorkStreamsOptions {
  readonly logger: HttpLog;
  /** Aborted when the service shuts down, which ends all work. */
  readonly closing: AbortSignal;
  /** Milliseconds between comments. Default 10,000. */
  readonly keepAliveMs?: number | undefined;
}

/** Sends an event once the reader is ready for it. @throws the reason of the signal. */
export type SendEvent<Event> = (event: Event) => Promise<void>;

/** Does the work of one request. The signal is aborted when the client goes away or the service shuts down. */
export type Work<Event> = (send: SendEvent<Event>, signal: AbortSignal) => Promise<void>;

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
} as const;

/** Replies whose work takes minutes, and that work: a service waits for its end before it closes. */
export class WorkStreams {
  readonly #options: WorkStreamsOptions;
  readonly #running = new Set<Promise<void>>();

  constructor(options: WorkStreamsOptions) {
    this.#options = options;
  }

  /**
   * Begins work, and streams its events. The stream begins with the first event or comment. Work that fails before
   * is a refusal with its own status. Later the status is already sent, so the failure is the last event:
   * `{"type": "error", "error": …}`.
   *
   * @throws the error of work that fails before the stream has begun.
   */
  async stream<Event extends object>(
    { requestId, signal: gone }: Pick<RouteRequest, 'requestId' | 'signal'>,
    work: Work<Event>,
  ): Promise<RouteReply> {
    const { logger, closing, keepAliveMs } = this.#options;
    const signal = this.endedBy(gone);
    const text = new TextStream();
    return await new Promise<RouteReply>((begin, refuse) => {
      let hasBegun = false;
      const push = (piece: string) => {
        text.push(piece);
        hasBegun = true;
        begin({ headers: HEADERS, stream: text });
      };
      const send: SendEvent<Event> = async (event) => {
        signal.throwIfAborted();
        await withDeadline(() => text.flowing(), { signal });
        push(toFrame(event));
      };
      const fail = (thrown: unknown) => {
        const error = closing.aborted && !gone.aborted ? shuttingDown() : thrown;
        if (!hasBegun) return refuse(error);
        // The log needs no line for a client that went away.
        if (!gone.aborted) push(toFrame({ type: 'error', ...(toErrorReply(error, requestId, logger).body as object) }));
      };
      const comments = startKeepAlive(() => push(': \n\n'), keepAliveMs);
      const running = work(send, signal)
        .then(() => begin({ headers: HEADERS, stream: text }), fail)
        .finally(() => {
          comments.stop();
          text.end();
          this.#running.delete(running);
        });
      this.#running.add(running);
    });
  }

  /** A signal that is aborted when the client goes away or the service shuts down. */
  endedBy(gone: AbortSignal): AbortSignal {
    return AbortSignal.any([gone, this.#options.closing]);
  }

  /** Resolves when all work has ended. Never rejects. */
  async ended(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}

function toFrame(event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}
