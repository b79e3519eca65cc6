import type { SessionEnd, SessionState } from './session-feed.ts';
import type { TurnNote } from './use-turn.ts';

/** How the last turn ended, where that needs a word. */
export function TurnNotes({
  state,
  note,
  isBusy,
}: {
  readonly state: SessionState | undefined;
  readonly note: TurnNote | undefined;
  readonly isBusy: boolean;
}) {
  if (note !== undefined) return <Note text={note.text} isBad={note.isBad} />;
  if (state === undefined || isBusy || state.end !== undefined) return null;
  const { turn, finishReason } = state;
  if (turn === 'failed') return <Note text={`This turn failed. ${KEPT}`} isBad />;
  if (turn === 'aborted') return <Note text={`This turn was stopped. ${KEPT}`} isBad />;
  if (turn === 'max_steps' || finishReason === 'length') {
    return (
      <Note text="The model was cut off: it had used all the steps or tokens of a turn. A message lets it go on." />
    );
  }
  if (finishReason === 'content_filter') return <Note text="The gateway held back the rest (content filter)." />;
  return null;
}

/** How the session ended. Its reward is in the transcript. */
export function EndNote({
  end: { status, message },
  note,
  traceUrl,
  wasLeft,
}: {
  readonly end: SessionEnd;
  readonly note: TurnNote | undefined;
  readonly traceUrl: string;
  /** True where the page was left during the first turn. */
  readonly wasLeft: boolean;
}) {
  const isFailed = status === 'failed';
  const isLeft = isFailed && wasLeft && /went away/.test(message ?? '');
  if (status === 'finished' || status === 'expired') {
    return (
      <p class="note end">
        <a href={traceUrl} target="_blank" rel="noopener">
          Open the trace
        </a>
      </p>
    );
  }
  if (isLeft) {
    return <Note text="You left the page during the first turn, so the session was closed: start a new one." isBad />;
  }
  if (!isFailed) return <Note text="Abandoned: it was not evaluated." />;
  // The turn that failed has said it.
  return note === undefined ? <Note text={message ?? 'The session has failed.'} isBad /> : null;
}

const KEPT = 'What the model had done before is kept.';

function Note({ text, isBad = false }: { readonly text: string; readonly isBad?: boolean }) {
  return (
    <p class={`note ${isBad ? 'problem bad-text' : 'quiet'}`} role={isBad ? 'alert' : undefined}>
      {text}
    </p>
  );
}
