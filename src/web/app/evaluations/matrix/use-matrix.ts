import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { feedMatrix, type MatrixFeed, type MatrixState } from './matrix-feed.ts';

export interface Matrix {
  /** Undefined until the first reply. Of another choice of rows until its own first reply. */
  readonly state: MatrixState | undefined;
  readonly error: unknown;
  show(from: number, to: number): void;
  refresh(): void;
}

/** The attempts of an evaluation as its page shows them, kept up to date. */
export function useMatrix(evaluationId: string, query: URLSearchParams): Matrix {
  const [state, setState] = useState<MatrixState | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [round, setRound] = useState(0);
  const feed = useRef<MatrixFeed>(undefined);
  useEffect(() => {
    const gone = new AbortController();
    setError(undefined);
    feed.current = feedMatrix(evaluationId, query, { signal: gone.signal, onState: setState, onError: setError });
    return () => gone.abort();
  }, [evaluationId, query.toString(), round]);
  const show = useCallback((from: number, to: number) => feed.current?.show(from, to), []);
  const refresh = () => (error === undefined ? feed.current?.refresh() : setRound(round + 1));
  return { state, error, show, refresh };
}
