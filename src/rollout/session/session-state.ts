import type { Boundary } from '../../contract/error-shapes.ts';
import { ApiError } from '../../contract/errors.ts';
import { type SessionEnd, sessionFinished, statusOf } from './session-end.ts';

/**
 * The states of a session. The first turn opens it:
 *
 *     new ─▶ opening ─▶ turn ⇄ idle ─▶ finishing ─▶ ended
 *              └──────────┴──────┴──▶ stopping ──────┘
 */
export type SessionState =
  | { readonly phase: 'new' | 'idle' }
  /** The environment connects and the setup runs. */
  | { readonly phase: 'opening'; readonly boundary: Boundary; readonly over: Promise<void> }
  | { readonly phase: 'turn'; readonly over: Promise<void> }
  /** The answer is submitted and evaluated. Only the repair of the answer may take a turn meanwhile. */
  | { readonly phase: 'finishing'; readonly done: Promise<SessionEnd>; readonly repair: object | undefined }
  /** Work in progress is aborted. */
  | { readonly phase: 'stopping'; readonly done: Promise<SessionEnd> }
  | { readonly phase: 'ended'; readonly end: SessionEnd };

/**
 * @param turn options of the turn that wants to begin, if any.
 * @throws ApiError session_busy or session_finished if the session cannot take a turn or be finished now.
 */
export function assertFree(id: string, state: SessionState, turn?: object): void {
  switch (state.phase) {
    case 'new':
    case 'idle':
      return;
    case 'opening':
    case 'turn':
      throw new ApiError('session_busy', `A turn of session ${id} is still running: wait for its answer.`);
    case 'finishing':
      if (turn !== undefined && turn === state.repair) return;
      throw new ApiError('session_finished', `Session ${id} is being ended.`);
    case 'stopping':
      throw new ApiError('session_finished', `Session ${id} is being ended.`);
    case 'ended':
      throw sessionFinished(id, { status: statusOf(state.end), message: state.end.error?.message ?? null });
  }
}
