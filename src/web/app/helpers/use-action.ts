import { useEffect, useRef, useState } from 'preact/hooks';
import type { AskOptions, LogLine } from './mcp-session.ts';

/** State of the last request. */
export type Outcome<Value> =
  | { readonly state: 'idle' }
  | { readonly state: 'running'; readonly progress: string; readonly log: readonly LogLine[] }
  | { readonly state: 'done'; readonly value: Value; readonly tookMs: number; readonly log: readonly LogLine[] }
  | { readonly state: 'failed'; readonly message: string; readonly log: readonly LogLine[] };

export interface Action<Value> {
  readonly outcome: Outcome<Value>;
  /** Asks for something; what is asked for already is cancelled. Never rejects. */
  run(work: (options: Required<AskOptions>) => Promise<Value>): Promise<void>;
  cancel(): void;
}

/** Where lines of the log come from while something runs. */
interface LogSource {
  onLog(listener: (line: LogLine) => void): () => void;
}

/** One thing that a person asks the server for, with its progress, its log and the way to cancel it. */
export function useAction<Value>(source?: LogSource): Action<Value> {
  const [outcome, setOutcome] = useState<Outcome<Value>>({ state: 'idle' });
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  return {
    outcome,
    async run(work) {
      running.current?.abort();
      const controller = new AbortController();
      running.current = controller;
      const { signal } = controller;
      const log: LogLine[] = [];
      const isLatest = () => running.current === controller;
      let progress = '';
      const showRunning = () => isLatest() && setOutcome({ state: 'running', progress, log: [...log] });
      const stopListening = source?.onLog((line) => {
        log.push(line);
        showRunning();
      });
      showRunning();
      const startedAt = performance.now();
      try {
        const value = await work({
          signal,
          onProgress({ progress: done, total, message }) {
            progress = `${done}${total === null ? '' : ` of ${total}`}${message === null ? '' : `, ${message}`}`;
            showRunning();
          },
        });
        const tookMs = Math.round(performance.now() - startedAt);
        if (isLatest()) setOutcome({ state: 'done', value, tookMs, log });
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        if (isLatest()) setOutcome({ state: 'failed', message: signal.aborted ? 'Cancelled.' : message, log });
      } finally {
        stopListening?.();
      }
    },
    cancel: () => running.current?.abort(),
  };
}
