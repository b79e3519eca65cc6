import type { Seat, SeatInput } from '../contract/seat.ts';
import type { Trace } from '../contract/trace.ts';
import type { Connection } from './connection.ts';

interface RequestOptions {
  readonly signal?: AbortSignal;
}

/** Seats for agents that bring their own model. */
export interface SeatsClient {
  /**
   * Opens one; setup has run when it resolves. Its secret is told here alone.
   *
   * @param options `idempotencyKey` default: one of its own for each call, so that a lost connection does not make two seats.
   */
  create(seat: SeatInput, options?: RequestOptions & { readonly idempotencyKey?: string }): Promise<Seat>;
  /** An open one, with `<secret>` in place of its secret. */
  get(traceId: string, options?: RequestOptions): Promise<Seat>;
  /** Ends one with an answer: a text, or what the answer schema of its scenario takes. The trace has its reward. */
  answer(traceId: string, answer: unknown, options?: RequestOptions): Promise<Trace>;
}

export function createSeatsClient(connection: Connection, createKey: () => string): SeatsClient {
  const path = (traceId: string) => `/v1/agent/seats/${encodeURIComponent(traceId)}`;
  return {
    create: (seat, { signal, idempotencyKey = createKey() } = {}) =>
      connection.json({
        method: 'POST',
        path: '/v1/agent/seats',
        headers: { 'idempotency-key': idempotencyKey },
        body: seat,
        isRepeatable: true,
        // The environment may have to be started, and its setup has two minutes.
        waitSeconds: 240,
        signal,
      }),
    get: (traceId, { signal } = {}) =>
      connection.json({ method: 'GET', path: path(traceId), isRepeatable: true, signal }),
    answer: (traceId, answer, { signal } = {}) =>
      connection.json({
        method: 'POST',
        path: `${path(traceId)}/answer`,
        body: { answer },
        isRepeatable: false,
        waitSeconds: 240,
        signal,
      }),
  };
}
