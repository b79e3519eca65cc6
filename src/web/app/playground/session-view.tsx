import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { SessionEntry } from '../../../contract/session.ts';
import { Failure, Loading } from '../components/states.tsx';
import { Transcript } from '../trace/transcript.tsx';
import { useResource } from '../use-resource.ts';
import { abandonSession, finishSession, readSession } from './chat.ts';
import { EndNote, TurnNotes } from './notes.tsx';
import { hasLeftFirstTurn } from './place.ts';
import { SayForm } from './say-form.tsx';
import { SessionFacts } from './session-facts.tsx';
import { feedSession, type SessionState } from './session-feed.ts';
import { SubmitForm } from './submit-form.tsx';
import { useFollow } from './use-follow.ts';
import { type TurnNote, type TurnPlayer, toNote } from './use-turn.ts';

export interface SessionViewProps {
  readonly sessionId: string;
  readonly player: TurnPlayer;
  /** Called if the session does not exist. */
  onMissing(note: TurnNote): void;
  onNew(): void;
}

/** A session with its conversation, which goes on here. */
export function SessionView({ sessionId, player, onMissing, onNew }: SessionViewProps) {
  const { resource } = useResource((signal) => readSession(sessionId, signal), [sessionId]);
  useEffect(() => {
    if (resource.state === 'failed') onMissing(toNote(resource.error));
  }, [resource]);
  if (resource.state !== 'ready') return <Loading what="Reading the session" />;
  return <Conversation entry={resource.value} player={player} onNew={onNew} />;
}

function Conversation({
  entry,
  player,
  onNew,
}: {
  readonly entry: SessionEntry;
  readonly player: TurnPlayer;
  onNew(): void;
}) {
  const id = entry.session_id;
  const { state, error, retry } = useFeed(id);
  const [task, setTask] = useState<'answering' | 'evaluating' | undefined>(undefined);
  const [wasLeft] = useState(hasLeftFirstTurn);
  const message = useRef<HTMLTextAreaElement>(null);
  const isBusy = player.isRunning || state?.turn === 'running';
  const isActive = state !== undefined && state.end === undefined && entry.status === 'active';
  // The events come by a connection of their own: they may be behind what the server has said of the session.
  const [known, setKnown] = useState(entry.turns);
  const hasMore = state?.turn === undefined || state.turns < known || entry.status !== 'active';
  const isBehind = state !== undefined && state.end === undefined && !isBusy && hasMore;
  useFollow(state, player.note);
  useLayoutEffect(() => {
    if (isActive && !isBusy && !isBehind && task === undefined) message.current?.focus({ preventScroll: true });
  }, [isActive, isBusy, isBehind, task]);

  const attempt = async (work: () => Promise<unknown>) => {
    player.setNote(undefined);
    try {
      await work();
    } catch (failure) {
      player.setNote(toNote(failure));
    }
  };
  const say = async (text: string) => {
    const before = state?.turns ?? 0;
    setKnown(before + 1);
    if (!(await player.play({ sessionId: id, message: text }))) setKnown(before);
  };
  const finish = async (answer: unknown) => {
    setTask('evaluating');
    await attempt(() => finishSession(id, answer));
    setTask(undefined);
  };

  return (
    <>
      <section class="playground-side card-block" aria-label="Session">
        <SessionFacts
          entry={entry}
          state={state}
          isBusy={isBusy || task === 'evaluating'}
          onAbandon={() => void attempt(() => abandonSession(id))}
          onNew={onNew}
        />
      </section>
      <section class="playground-chat" aria-label="Conversation">
        {error === undefined ? null : <Failure error={error} retry={retry} />}
        <div id="log" role="log" aria-live="polite" aria-busy={isBusy || isBehind} tabIndex={-1}>
          {state === undefined ? null : (
            <Transcript attempts={state.attempts} isLive={isBusy} pending={state.pending} />
          )}
          <TurnNotes state={state} note={player.note} isBusy={isBusy || isBehind} />
          {state?.end === undefined ? null : (
            <EndNote end={state.end} note={player.note} traceUrl={entry.trace_url} wasLeft={wasLeft} />
          )}
        </div>
        <div class="playground-foot">
          <p id="state" class="quiet" role="status">
            {describePhase(state, isBehind, isBusy, task)}
          </p>
          {isActive && task === undefined ? (
            <SayForm
              field={message}
              isBusy={isBusy || isBehind}
              onSend={(text) => void say(text)}
              onStop={player.isRunning ? player.stop : undefined}
              onFinish={() => setTask('answering')}
            />
          ) : null}
          {isActive && task !== undefined ? (
            <SubmitForm
              schema={state.answerSchema}
              isBusy={task === 'evaluating'}
              onSubmit={(answer) => void finish(answer)}
              onBack={() => setTask(undefined)}
            />
          ) : null}
        </div>
      </section>
    </>
  );
}

function useFeed(id: string) {
  const [state, setState] = useState<SessionState | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [round, setRound] = useState(0);
  useEffect(() => {
    const gone = new AbortController();
    setError(undefined);
    feedSession(id, gone.signal, setState).catch((failure: unknown) => {
      if (!gone.signal.aborted) setError(failure);
    });
    return () => gone.abort();
  }, [id, round]);
  return { state, error, retry: () => setRound(round + 1) };
}

function describePhase(
  state: SessionState | undefined,
  isBehind: boolean,
  isBusy: boolean,
  task: 'answering' | 'evaluating' | undefined,
) {
  if (state?.isAway) return 'The server does not answer. Trying again…';
  if (state === undefined || isBehind) return 'Reading the conversation…';
  if (state.end !== undefined) return null;
  if (task === 'evaluating') return 'Evaluating…';
  if (isBusy) {
    return (
      <>
        <span class="spinner" />
        The model is at work…
      </>
    );
  }
  return 'Your turn: write to the model, or finish to have it evaluated.';
}
