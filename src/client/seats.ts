import type { Seat, SeatInput } from '../contract/service/seat.ts';
import type { Trace } from '../contract/service/trace.ts';
import type { Connection } from './connection.ts';

interface RequestOptions {
  readonly signal?: AbortSignal;
}

/** Seats for agents that bring their own model. */
export interface SeatsClient {
  /**
   * Opens a seat and resolves after its setup. Only this reply contains the secret.
   *
   * @param options `idempotencyKey` is random by default, so that a retry after a lost connection does not open a
   * second seat.
   */
  create(seat: SeatInput, options?: RequestOptions & { readonly idempotencyKey?: string }): Promise<Seat>;
  /** Reads an open seat. Its secret is replaced by `<secret>`. */
  get(traceId: string, options?: RequestOptions): Promise<Seat>;
  /**
   * Ends a seat with an answer: a text, or a value of the scenario's answer schema. The returned trace has the
   * reward.
   */
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
        // Starting the environment may take time, and its setup two minutes.
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
