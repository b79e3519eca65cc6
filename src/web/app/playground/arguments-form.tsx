import type { ScenarioEntry } from '../../../contract/scenario.ts';
import { ArgumentField } from '../environments/argument-field.tsx';
import { type Field, ownOf, type ReadFields, readFields, toField, toFields } from '../environments/form-values.ts';

/** The texts of the fields, or one JSON object in their place. */
export interface ArgumentTexts {
  readonly fields: Readonly<Record<string, string>>;
  /** Undefined: the fields are written in. */
  readonly whole: string | undefined;
}

export const NO_TEXTS: ArgumentTexts = { fields: {}, whole: undefined };

/** The arguments, and what is wrong with them: `args.<name>` of a field, `args` of the whole. */
export function readArguments(scenario: ScenarioEntry, texts: ArgumentTexts): ReadFields {
  const whole = wholeOf(scenario, texts);
  if (whole === undefined) {
    const { args, problems } = readFields(toFields(scenario), texts.fields);
    return {
      args,
      problems: Object.fromEntries(Object.entries(problems).map(([name, text]) => [`args.${name}`, text])),
    };
  }
  const { args, problems } = readFields([WHOLE], { [WHOLE.name]: whole });
  const problem = problems[WHOLE.name];
  return {
    args: (args[WHOLE.name] as ReadFields['args'] | undefined) ?? {}, // An object, by its shape.
    problems: problem === undefined ? {} : { args: problem },
  };
}

/** True where the argument has a field that is shown. */
export function takesArgument(scenario: ScenarioEntry, texts: ArgumentTexts, name: string): boolean {
  return wholeOf(scenario, texts) === undefined && toFields(scenario).some((field) => field.name === name);
}

export function ArgumentsForm({
  scenario,
  texts,
  problems,
  onChange,
}: {
  readonly scenario: ScenarioEntry;
  readonly texts: ArgumentTexts;
  readonly problems: Readonly<Record<string, string>>;
  onChange(texts: ArgumentTexts): void;
}) {
  const fields = toFields(scenario);
  const whole = wholeOf(scenario, texts);
  if (fields.length === 0 && whole === undefined) return <p class="quiet">It takes no arguments.</p>;
  return (
    <div class="argument-fields">
      {whole === undefined ? (
        fields.map((field) => (
          <ArgumentField
            key={`${scenario.name} ${field.name}`}
            id={`argument-${field.name}`}
            field={field}
            text={ownOf(texts.fields, field.name) ?? field.initial}
            problem={ownOf(problems, `args.${field.name}`)}
            onChange={(text) => onChange({ ...texts, fields: { ...texts.fields, [field.name]: text } })}
          />
        ))
      ) : (
        <ArgumentField
          id="arguments-json"
          field={WHOLE}
          text={whole}
          problem={problems.args}
          onChange={(text) => onChange({ ...texts, whole: text })}
        />
      )}
      {fields.length === 0 ? null : (
        <p class="wide">
          <button type="button" class="link" onClick={() => onChange(switched(fields, texts))}>
            {whole === undefined ? 'Write them as JSON' : 'Back to the form'}
          </button>
        </p>
      )}
    </div>
  );
}

const WHOLE: Field = toField(
  { name: 'Arguments', isRequired: true, description: '', initial: {} },
  { type: 'object' },
  {},
);

/** A scenario that declares nothing and takes anything has no fields. */
function wholeOf(scenario: ScenarioEntry, { whole }: ArgumentTexts): string | undefined {
  const isOpen = scenario.args_schema.additionalProperties !== false;
  return whole ?? (toFields(scenario).length === 0 && isOpen ? WHOLE.initial : undefined);
}

function switched(fields: readonly Field[], texts: ArgumentTexts): ArgumentTexts {
  if (texts.whole !== undefined) return { ...texts, whole: undefined };
  return { ...texts, whole: JSON.stringify(readFields(fields, texts.fields).args, null, 2) };
}
