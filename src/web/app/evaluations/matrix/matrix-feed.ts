import { isAway } from '../../../../client/connection.ts';
import { sleep } from '../../../../support/runtime/backoff.ts';
import type { EvaluationData, MatrixPage, MatrixRow } from '../../../evaluations/evaluation-data.ts';
import { connection } from '../../api.ts';

/** Tasks that are asked for at once, more than a window shows. */
const ROWS = 60;
const AWAY_MS = 3_000;

export interface MatrixState {
  readonly status: string;
  readonly done: number;
  readonly version: number;
  /** Everything but the rows. */
  readonly page: MatrixPage;
  /** Those that are known, by their place in the order. */
  readonly rows: ReadonlyMap<number, MatrixRow>;
  /** The server does not answer; it is asked again. */
  readonly isAway: boolean;
}

export interface MatrixFeed {
  /** Says which rows are seen: the first one and the one after the last. */
  show(from: number, to: number): void;
  /** Asks at once. */
  refresh(): void;
}

/**
 * Reads the attempts of an evaluation for its page: the rows that are seen, and what has changed while it goes on.
 * It ends when the signal is aborted.
 *
 * @param query of the rows, with `sort` and filters. @param onState every time something is new.
 */
export function feedMatrix(
  evaluationId: string,
  query: URLSearchParams,
  {
    signal,
    onState,
    onError,
  }: { signal: AbortSignal; onState(state: MatrixState): void; onError(error: unknown): void },
): MatrixFeed {
  let seen = { from: 0, to: ROWS };
  let state: MatrixState | undefined;
  let wake: AbortController | undefined;
  let isHurried = false;

  const missing = () => {
    if (state === undefined) return 0;
    const end = Math.min(seen.to, state.page.matched);
    for (let index = seen.from; index < end; index++) if (!state.rows.has(index)) return index;
    return undefined;
  };

  async function readOnce(): Promise<number | null> {
    const first = missing();
    const asked = new URLSearchParams(query);
    asked.set('offset', String(first ?? seen.from));
    asked.set('limit', String(Math.min(200, Math.max(ROWS, seen.to - seen.from))));
    if (first === undefined && state !== undefined) asked.set('since', String(state.version));
    const path = `/data/evaluations/${encodeURIComponent(evaluationId)}?${asked}`;
    const data = await connection.json<EvaluationData>({ method: 'GET', path, isRepeatable: false, signal });
    state = merge(state, data);
    if (state !== undefined && !signal.aborted) onState(state);
    return data.again_ms;
  }

  async function run(): Promise<void> {
    for (;;) {
      let againMs: number | null;
      try {
        againMs = await readOnce();
      } catch (error) {
        signal.throwIfAborted();
        if (state === undefined || !isAway(error)) throw error;
        state = { ...state, isAway: true };
        onState(state);
        againMs = AWAY_MS;
      }
      if (missing() === undefined && !isHurried) {
        wake = new AbortController();
        await pause(againMs, AbortSignal.any([signal, wake.signal]));
        signal.throwIfAborted();
      }
      isHurried = false;
    }
  }
  run().catch((error: unknown) => {
    if (!signal.aborted) onError(error);
  });
  return {
    show(from, to) {
      seen = { from, to };
      if (missing() !== undefined) wake?.abort();
    },
    refresh() {
      isHurried = true;
      wake?.abort();
    },
  };
}

function merge(known: MatrixState | undefined, { cells, ...data }: EvaluationData): MatrixState | undefined {
  const head = { status: data.status, done: data.done, version: data.version, isAway: false };
  if (cells === undefined) return known && { ...known, ...head };
  // Rows of another version may stand elsewhere now.
  const rows = new Map(known?.version === data.version ? known.rows : []);
  for (const [index, row] of cells.rows.entries()) rows.set(cells.offset + index, row);
  return { ...head, page: cells, rows };
}

/** Until the time has come and the page is to be seen; null: until it is woken. */
async function pause(delayMs: number | null, signal: AbortSignal): Promise<void> {
  await (delayMs === null ? aborted(signal) : sleep(delayMs, signal).catch(() => {}));
  while (document.visibilityState !== 'visible' && !signal.aborted) {
    const seen = new AbortController();
    document.addEventListener('visibilitychange', () => seen.abort(), { signal: seen.signal });
    await aborted(AbortSignal.any([signal, seen.signal]));
    seen.abort();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
