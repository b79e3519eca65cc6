import { useState } from 'preact/hooks';
import { usePageTitle } from '../use-page-title.ts';
import { remember, rememberedSession } from './place.ts';
import { SessionView } from './session-view.tsx';
import { StartForm } from './start-form.tsx';
import { useTurn } from './use-turn.ts';

/** A person talks with a model that plays a scenario: start, turns, answer, reward. */
export function PlaygroundPage() {
  usePageTitle('Playground');
  const [sessionId, setSessionId] = useState(rememberedSession);
  const player = useTurn(setSessionId);
  const showStart = () => {
    remember(undefined);
    setSessionId(undefined);
  };
  return (
    <div class="playground page">
      {sessionId === undefined ? (
        <>
          <section class="playground-side card-block" aria-label="Session">
            <StartForm player={player} />
          </section>
          <section class="playground-empty" aria-label="Conversation">
            <p id="state" class="quiet" role="status">
              {player.isRunning ? 'Starting…' : null}
            </p>
            {player.isRunning ? (
              <button type="button" class="button" onClick={player.stop}>
                Stop
              </button>
            ) : (
              <p class="quiet playground-hint">
                Pick a scenario and start: what its prompt says, what the model answers and which tools it calls appear
                here.
              </p>
            )}
          </section>
        </>
      ) : (
        <SessionView
          key={sessionId}
          sessionId={sessionId}
          player={player}
          onMissing={(note) => {
            player.setNote(note);
            showStart();
          }}
          onNew={() => {
            player.setNote(undefined);
            showStart();
          }}
        />
      )}
    </div>
  );
}
