import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../../../contract/errors.ts';
import { playTurn, type Turn } from './chat.ts';
import { remember } from './place.ts';

/** A message about a turn of this page that its session does not tell. */
export interface TurnNote {
  readonly text: string;
  readonly isBad: boolean;
  /** The field of the request at fault. */
  readonly param: string | null;
}

export interface TurnPlayer {
  readonly isRunning: boolean;
  readonly note: TurnNote | undefined;
  /** @returns true if the model has answered. */
  play(turn: Turn): Promise<boolean>;
  stop(): void;
  setNote(note: TurnNote | undefined): void;
}

/** Plays the turns of this page, one at a time. `onSession` gets the session that a first turn has started. */
export function useTurn(onSession: (id: string) => void): TurnPlayer {
  const [isRunning, setRunning] = useState(false);
  const [note, setNote] = useState<TurnNote | undefined>(undefined);
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => {
    // Leaving the page stops the turn.
    const ask = (event: Event) => running.current !== undefined && event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => {
      removeEventListener('beforeunload', ask);
      running.current?.abort();
    };
  }, []);
  return {
    isRunning,
    note,
    setNote,
    stop: () => running.current?.abort(),
    async play(turn) {
      if (running.current !== undefined) return false;
      const controller = new AbortController();
      running.current = controller;
      setRunning(true);
      setNote(undefined);
      const isFirst = turn.sessionId === undefined;
      let id = turn.sessionId;
      try {
        await playTurn(turn, {
          signal: controller.signal,
          onSession(started) {
            if (!isFirst) return;
            id = started;
            remember(id, true);
            onSession(id);
          },
        });
        if (id !== undefined) remember(id);
        return true;
      } catch (error) {
        const isStopped = controller.signal.aborted;
        setNote(isStopped ? stoppedNote(isFirst) : toNote(error));
        // A connection is lost when the page is left, too: only then the first turn stays remembered.
        if (id !== undefined && (isStopped || !isAway(error))) remember(id);
        return false;
      } finally {
        running.current = undefined;
        setRunning(false);
      }
    },
  };
}

export function toNote(error: unknown): TurnNote {
  const text = error instanceof Error ? error.message : String(error);
  return { text, isBad: true, param: error instanceof ApiError ? error.param : null };
}

function isAway(error: unknown): boolean {
  return error instanceof ApiError && error.status === 0;
}

function stoppedNote(isFirst: boolean): TurnNote {
  const text = isFirst
    ? 'Stopped. A session whose first turn has no answer is closed.'
    : 'Stopped. What the model had done before is kept; say how to go on.';
  return { text, isBad: false, param: null };
}
