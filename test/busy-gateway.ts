import type { ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { delta, type FakeGateway, frames, json, openGateway } from './gateway.ts';

export interface BusyGatewayOptions {
  /** Requests that it answers at one time; others get a 429. */
  readonly capacity?: number;
  /** Milliseconds that an answer takes. */
  readonly callMs?: number;
  /** Text of its answers, four characters or more. */
  readonly text?: string;
  /** Of its 429, in seconds; undefined: it says nothing. */
  readonly retryAfter?: number;
  /** Of every answer. */
  readonly usage?: object;
}

/** A gateway that refuses what is too much for it, counts, and fails when a test says so. */
export interface BusyGateway extends Omit<FakeGateway, 'requests' | 'clientClosed' | 'asked'> {
  readonly answered: number;
  readonly refused: number;
  /** The most that it had at one time. */
  readonly peak: number;
  /** Of requests, refused ones among them. */
  readonly bodies: readonly Record<string, unknown>[];
  /** Every request gets this status, until it is undefined. */
  failWith(status: number | undefined): void;
  /** Forgets its counts. */
  reset(): void;
}

/** Until the test ends. */
export async function startBusyGateway(options: BusyGatewayOptions = {}): Promise<BusyGateway> {
  const { capacity = Number.POSITIVE_INFINITY, callMs = 0, text: said = 'Hello', retryAfter, usage } = options;
  const counts = { answered: 0, refused: 0, peak: 0, running: 0 };
  let failure: number | undefined;
  const answer = async (response: ServerResponse) => {
    counts.running += 1;
    counts.peak = Math.max(counts.peak, counts.running);
    response.on('close', () => {
      counts.running -= 1;
    });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frames(delta({ role: 'assistant', content: said.slice(0, 3) })));
    await new Promise((resolve) => setTimeout(resolve, callMs));
    if (response.destroyed) return;
    counts.answered += 1;
    response.end(frames(delta({ content: said.slice(3) }), { ...delta({}, 'stop'), usage }, '[DONE]'));
  };
  const gateway = await openGateway(async (response, _request) => {
    const isFull = failure === undefined && counts.running >= capacity;
    if (failure === undefined && !isFull) return await answer(response);
    if (isFull) counts.refused += 1;
    const headers: Record<string, string> = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
    const body = { error: { message: 'Try again later', type: 'rate_limit_error' } };
    return json(failure ?? 429, body, headers)(response);
  });
  onTestFinished(() => gateway.close());
  const { url, goAway, comeBack, close, requests } = gateway;
  return {
    url,
    goAway,
    comeBack,
    close,
    get answered() {
      return counts.answered;
    },
    get refused() {
      return counts.refused;
    },
    get peak() {
      return counts.peak;
    },
    get bodies() {
      return requests.map(({ body }) => body);
    },
    failWith: (status) => {
      failure = status;
    },
    reset: () => {
      counts.answered = 0;
      counts.refused = 0;
      counts.peak = counts.running;
      requests.length = 0;
    },
  };
}
