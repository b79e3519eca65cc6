import { useId, useState } from 'preact/hooks';
import { assertKey } from './scenario-game.ts';
import { useAction } from './use-action.ts';

/** Asks for the harness key and tries it. The page keeps it in memory alone: no storage, no address, no route of the helpers. */
export function KeyForm({
  endpoint,
  harnessKey,
  onKey,
}: {
  readonly endpoint: URL;
  readonly harnessKey: string | undefined;
  onKey(key: string | undefined): void;
}) {
  const [text, setText] = useState('');
  const { outcome, run } = useAction<void>();
  const id = useId();
  if (harnessKey !== undefined) {
    return (
      <p class="key-state">
        <span class="good-text">The harness key is right: scenarios can be played.</span>{' '}
        <button type="button" class="link" onClick={() => onKey(undefined)}>
          Forget it
        </button>
      </p>
    );
  }
  const tryKey = async (key: string) => {
    await run(async ({ signal }) => {
      await assertKey(endpoint, key, signal);
      setText('');
      onKey(key);
    });
  };
  return (
    <form
      class="key-form"
      aria-label="Harness key"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== '') void tryKey(text.trim());
      }}
    >
      <p>
        Setup and evaluation are the harness’s, and need its key. <code>proctor dev</code> and <code>proctor mcp</code>{' '}
        over HTTP print it to standard error when they start, on the line that begins with <code>Harness key:</code>.
        Where <code>PROCTOR_HARNESS_KEY</code> or the option <code>harnessKey</code> is set, it is that one.
      </p>
      <div class="field">
        <label for={id}>Harness key</label>
        <div class="key-row">
          <input
            id={id}
            type="password"
            value={text}
            autocomplete="off"
            spellcheck={false}
            aria-describedby={`${id}-about`}
            aria-invalid={outcome.state === 'failed' ? true : undefined}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
          <button type="submit" class="button" disabled={outcome.state === 'running' || text.trim() === ''}>
            Use this key
          </button>
        </div>
        <p id={`${id}-about`} class="quiet small">
          It stays in the memory of this page, and is forgotten when the page is left or loaded again.
        </p>
        <p class="bad-text small" role="status">
          {outcome.state === 'failed' ? outcome.message : null}
        </p>
      </div>
    </form>
  );
}
