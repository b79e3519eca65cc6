import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { ArgumentField } from '../environments/argument-field.tsx';
import { type Field, ownOf, readFields } from '../environments/form-values.ts';
import { useResource } from '../use-resource.ts';

/** A form for arguments. What it holds stays while it is sent, so that it can be sent again. */
export function FieldForm({
  label,
  fields,
  submit,
  isRunning,
  suggest,
  onSubmit,
  onCancel,
  children,
}: {
  readonly label: string;
  readonly fields: readonly Field[];
  /** Text of its button. */
  readonly submit: string;
  readonly isRunning: boolean;
  /** Values that an argument can have, by what is written so far. */
  readonly suggest?: ((name: string, text: string, signal: AbortSignal) => Promise<readonly string[]>) | undefined;
  onSubmit(values: Record<string, unknown>): void;
  onCancel?(): void;
  /** Beside the button. */
  readonly children?: ComponentChildren;
}) {
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const form = useRef<HTMLFormElement>(null);
  const id = useId();
  // The first field with a problem is where one goes on.
  useEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus(), [problems]);
  return (
    <form
      ref={form}
      class="run-form"
      aria-label={label}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const read = readFields(fields, texts);
        setProblems(read.problems);
        if (Object.keys(read.problems).length === 0) onSubmit(read.args);
      }}
    >
      {fields.length === 0 ? null : (
        <div class="argument-fields">
          {fields.map((field) => (
            <SuggestingField
              key={field.name}
              id={`${id}-${field.name}`}
              field={field}
              text={ownOf(texts, field.name) ?? field.initial}
              problem={ownOf(problems, field.name)}
              suggest={suggest}
              onChange={(text) => setTexts({ ...texts, [field.name]: text })}
            />
          ))}
        </div>
      )}
      <div class="form-actions">
        <button type="submit" class="button main" disabled={isRunning}>
          {submit}
        </button>
        {isRunning && onCancel !== undefined ? (
          <button type="button" class="button" onClick={onCancel}>
            Cancel
          </button>
        ) : null}
        {children}
      </div>
    </form>
  );
}

/** Choices that are written out below a field. */
const MOST_SHOWN = 12;

function SuggestingField({
  suggest,
  ...props
}: Omit<Parameters<typeof ArgumentField>[0], 'suggestions'> & Pick<Parameters<typeof FieldForm>[0], 'suggest'>) {
  const { field, text, onChange } = props;
  const { resource } = useResource(
    (signal) => suggest?.(field.name, text, signal) ?? Promise.resolve([]),
    [field.name, text],
  );
  const suggestions = resource.state === 'ready' ? resource.value : [];
  return (
    <div class="suggesting-field">
      <ArgumentField {...props} suggestions={suggestions} />
      {suggestions.length === 0 || suggestions.length > MOST_SHOWN ? null : (
        <p class="choices">
          {suggestions.map((value) => (
            <button key={value} type="button" class="choice" onClick={() => onChange(value)}>
              {value}
            </button>
          ))}
        </p>
      )}
    </div>
  );
}
