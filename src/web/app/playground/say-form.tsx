import type { RefObject } from 'preact';
import { useState } from 'preact/hooks';

/** A message of the person: Enter sends it. */
export function SayForm({
  field,
  isBusy,
  onSend,
  onStop,
  onFinish,
}: {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly isBusy: boolean;
  onSend(text: string): void;
  /** Undefined where no turn of this page runs. */
  readonly onStop: (() => void) | undefined;
  onFinish(): void;
}) {
  const [text, setText] = useState('');
  const send = () => {
    if (isBusy || text.trim() === '') return;
    setText('');
    onSend(text);
  };
  return (
    <form
      id="say"
      class="field"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label for="message" class="visually-hidden">
        Message
      </label>
      <textarea
        id="message"
        ref={field}
        rows={2}
        value={text}
        placeholder="Write to the model… (Enter sends, Shift+Enter breaks the line)"
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      <p class="form-actions">
        <button type="submit" class="button main" disabled={isBusy}>
          Send
        </button>
        {onStop === undefined ? null : (
          <button type="button" class="button" onClick={onStop}>
            Stop
          </button>
        )}
        <button type="button" class="button playground-finish" disabled={isBusy} onClick={onFinish}>
          Finish…
        </button>
      </p>
    </form>
  );
}
