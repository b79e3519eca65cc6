import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { JsonSchema } from '../../../contract/json.ts';
import { JsonTree } from '../components/json-tree.tsx';

/** Asks for the answer that is evaluated. Left blank, the last text of the model is. */
export function SubmitForm({
  schema,
  isBusy,
  onSubmit,
  onBack,
}: {
  readonly schema: JsonSchema | null;
  readonly isBusy: boolean;
  onSubmit(answer: unknown): void;
  onBack(): void;
}) {
  const [text, setText] = useState('');
  const [problem, setProblem] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  const isText = schema === null || schema.type === 'string';
  const submit = () => {
    try {
      const answer = text.trim() === '' ? undefined : isText ? text : JSON.parse(text);
      setProblem('');
      onSubmit(answer);
    } catch (error) {
      setProblem(`The answer is not JSON: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  return (
    <form
      id="submit"
      class="field"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <label for="answer">
        Answer <span class="quiet">{`${isText ? '' : 'JSON, '}optional: left blank, the last text of the model`}</span>
      </label>
      <textarea
        id="answer"
        ref={field}
        rows={2}
        value={text}
        aria-invalid={problem === '' ? undefined : true}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={({ key }) => key === 'Escape' && onBack()}
      />
      {problem === '' ? null : (
        <p class="bad-text small" role="alert">
          {problem}
        </p>
      )}
      {schema === null ? null : (
        <details id="answer-schema" class="more">
          <summary>The form of an answer</summary>
          <JsonTree value={schema} />
        </details>
      )}
      <p class="form-actions">
        <button type="submit" class="button main" disabled={isBusy}>
          Submit and evaluate
        </button>
        <button type="button" class="button" disabled={isBusy} onClick={onBack}>
          Back
        </button>
      </p>
    </form>
  );
}
