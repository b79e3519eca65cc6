import type { JsonSchema } from '../../../contract/json.ts';
import type { EventOf, ModelDeltaEvent, TraceEvent } from '../../../contract/service/event.ts';
import type { SessionStatus } from '../../../contract/session.ts';
import { followSession } from '../api.ts';
import { oncePerFrame } from '../trace/once-per-frame.ts';
import { type AttemptView, Timeline } from '../trace/timeline.ts';
import type { TraceState } from '../trace/trace-feed.ts';

/** A session as its events tell it. */
export interface SessionState {
  readonly attempts: readonly AttemptView[];
  readonly pending: TraceState['pending'];
  readonly environment: string;
  /** Responses of the model that are complete. */
  readonly steps: number;
  /** Turns that have begun. */
  readonly turns: number;
  /** The last turn; undefined before the first event. A session is set up for its first turn. */
  readonly turn: 'running' | EventOf<'turn.finished'>['status'] | undefined;
  /** Why the last response of the model ended. */
  readonly finishReason: EventOf<'model.responded'>['finish_reason'] | undefined;
  /** The shape of an answer; null: any text will do. */
  readonly answerSchema: JsonSchema | null;
  /** Undefined while it is active. */
  readonly end: SessionEnd | undefined;
  /** True while the server does not answer. */
  readonly isAway: boolean;
}

export interface SessionEnd {
  readonly status: Exclude<SessionStatus, 'active'>;
  /** Why it failed. */
  readonly message: string | null;
}

/**
 * Follows a session from its beginning to its end, also while another client talks in it. It tells at most once per frame.
 *
 * @throws ApiError for a session that is not there; the reason of the signal, which ends it.
 */
export async function feedSession(
  sessionId: string,
  signal: AbortSignal,
  tell: (state: SessionState) => void,
): Promise<void> {
  const feed = new SessionFeed(tell, signal);
  const events = followSession(sessionId, { after: 0, signal, onAway: (isAway) => feed.setAway(isAway) });
  for await (const event of events) feed.add(event);
}

const NOTHING: SessionState = {
  attempts: [],
  pending: undefined,
  environment: '',
  steps: 0,
  turns: 0,
  turn: undefined,
  finishReason: undefined,
  answerSchema: null,
  end: undefined,
  isAway: false,
};

class SessionFeed {
  readonly #show: () => void;
  readonly #timeline = new Timeline();
  #state = NOTHING;

  constructor(tell: (state: SessionState) => void, signal: AbortSignal) {
    this.#show = oncePerFrame(signal, () => tell({ ...this.#state, attempts: this.#timeline.attempts() }));
  }

  add(event: TraceEvent | ModelDeltaEvent): void {
    if (event.type !== 'model.delta') this.#timeline.add(event);
    this.#state = { ...this.#state, ...changesOf(this.#state, event) };
    this.#show();
  }

  setAway(isAway: boolean): void {
    this.#state = { ...this.#state, isAway };
    this.#show();
  }
}

function changesOf(state: SessionState, event: TraceEvent | ModelDeltaEvent): Partial<SessionState> {
  switch (event.type) {
    case 'model.delta': {
      const { content = '', reasoning = '' } = state.pending ?? {};
      const said = event.content ?? event.refusal ?? '';
      return { pending: { content: `${content}${said}`, reasoning: `${reasoning}${event.reasoning ?? ''}` } };
    }
    case 'run.queued':
      return { environment: event.env_name, turn: 'running' };
    case 'setup.completed':
      return { answerSchema: event.answer_schema };
    case 'turn.started':
      return { turns: event.turn, turn: 'running' };
    case 'model.responded':
      return { pending: undefined, steps: state.steps + 1, finishReason: event.finish_reason };
    case 'turn.finished':
      return { pending: undefined, turn: event.status };
    case 'run.finished':
      return { pending: undefined, end: endOf(event) };
    default:
      return {};
  }
}

function endOf({ status, stop_reason, error }: EventOf<'run.finished'>): SessionEnd {
  if (status === 'completed') return { status: stop_reason === 'expired' ? 'expired' : 'finished', message: null };
  if (status === 'cancelled') return { status: 'abandoned', message: null };
  return { status: 'failed', message: error?.message ?? null };
}
