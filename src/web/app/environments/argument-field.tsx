import type { Field } from './form-values.ts';

/** Least and most lines of a text area. */
const LEAST_LINES = 3;
const MOST_LINES = 14;

/** Input field of one argument with its description and error. */
export function ArgumentField({
  id,
  field: { name, kind, isRequired, description, range, choices },
  text,
  problem,
  suggestions = [],
  onChange,
}: {
  readonly id: string;
  readonly field: Field;
  readonly text: string;
  readonly problem: string | undefined;
  /** Values that may be written in one line; others may be, too. */
  readonly suggestions?: readonly string[];
  onChange(text: string): void;
}) {
  const common = {
    id,
    value: text,
    'aria-required': isRequired ? true : undefined,
    'aria-invalid': problem === undefined ? undefined : true,
    'aria-describedby': `${id}-about ${id}-problem`,
    onInput: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
      onChange(currentTarget.value),
  };
  return (
    <div class={`field ${kind === 'json' || kind === 'text' ? 'wide' : ''}`}>
      <label for={id}>
        {name} {isRequired ? null : <span class="quiet">optional</span>}
      </label>
      {kind === 'choice' ? (
        <select {...common}>
          <option value="">–</option>
          {choices.map((choice) => (
            <option key={choice.text} value={choice.text}>
              {choice.text}
            </option>
          ))}
        </select>
      ) : kind === 'json' || kind === 'text' ? (
        <textarea
          {...common}
          class={kind === 'json' ? 'mono' : ''}
          rows={Math.min(MOST_LINES, Math.max(LEAST_LINES, text.split('\n').length))}
          spellcheck={kind === 'text'}
        />
      ) : (
        <input
          {...common}
          inputMode={kind === 'number' ? 'decimal' : 'text'}
          autocomplete="off"
          list={suggestions.length === 0 ? undefined : `${id}-suggestions`}
        />
      )}
      {suggestions.length === 0 ? null : (
        <datalist id={`${id}-suggestions`}>
          {suggestions.map((value) => (
            <option key={value} value={value} />
          ))}
        </datalist>
      )}
      <p id={`${id}-about`} class="quiet small">
        {description}
        {range === '' ? null : <span>{` ${toSentence(range)}`}</span>}
        {kind === 'json' ? <span>{description === '' ? 'As JSON.' : ' As JSON.'}</span> : null}
      </p>
      <p id={`${id}-problem`} class="bad-text small" role={problem === undefined ? undefined : 'alert'}>
        {problem}
      </p>
    </div>
  );
}

function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
