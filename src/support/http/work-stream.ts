import { withDeadline } from '../runtime/deadline.ts';
import { startKeepAlive } from '../runtime/keep-alive.ts';
import type { RouteReply } from './api/route.ts';
import { type HttpLog, toErrorReply } from './request-log.ts';
import { TextStream } from './text-stream.ts';

export interface WorkStreamOptions {
  readonly requestId: string;
  readonly logger: HttpLog;
  /** Aborted when the client goes away, or the service shuts down. */
  readonly signal: AbortSignal;
  /** Milliseconds between comments. Default 10,000. */
  readonly keepAliveMs?: number | undefined;
}

/** Sends an event once the reader is ready for it. @throws the reason of the signal. */
export type SendEvent<Event> = (event: Event) => Promise<void>;

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
} as const;

/**
 * The reply of work that takes minutes: a stream of server-sent events. The status is already sent when the work fails,
 * so a failure is the last event: `{"type": "error", "error": …}`.
 */
export function streamWork<Event extends object>(
  work: (send: SendEvent<Event>) => Promise<void>,
  { requestId, logger, signal, keepAliveMs }: WorkStreamOptions,
): RouteReply {
  const text = new TextStream();
  const push = (event: object) => text.push(`data: ${JSON.stringify(event)}\n\n`);
  const comments = startKeepAlive(() => text.push(': \n\n'), keepAliveMs);
  const send: SendEvent<Event> = async (event) => {
    signal.throwIfAborted();
    await withDeadline(() => text.flowing(), { signal });
    push(event);
  };
  const fail = (thrown: unknown) => {
    const { body } = toErrorReply(thrown, requestId, logger);
    push({ type: 'error', ...(body as object) });
  };
  void work(send)
    .catch(fail)
    .finally(() => {
      comments.stop();
      text.end();
    });
  return { headers: HEADERS, stream: text };
}
