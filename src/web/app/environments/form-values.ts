import type { ScenarioEntry } from '../../../contract/scenario.ts';

/** One argument of a scenario, as a form asks for it. */
export interface Field {
  readonly name: string;
  readonly kind: 'text' | 'number' | 'choice' | 'json';
  readonly isRequired: boolean;
  readonly description: string;
  /** What is there before anybody writes; empty: the scenario's own default, or nothing. */
  readonly initial: string;
  /** Of a choice, as JSON. */
  readonly choices: readonly string[];
}

type JsonSchema = Readonly<Record<string, unknown>>;

/** The arguments of a scenario in the order in which it declares them. */
export function toFields({ arguments: declared, args_schema }: ScenarioEntry): readonly Field[] {
  const properties = isObject(args_schema.properties) ? args_schema.properties : {};
  return declared.map(({ name, required, description, default: initial }) => {
    const schema = isObject(properties[name]) ? properties[name] : {};
    const choices = choicesOf(schema);
    const kind = choices.length > 0 ? 'choice' : kindOf(schema);
    return {
      name,
      kind,
      isRequired: required,
      description: description ?? '',
      initial:
        initial === null || initial === undefined ? '' : kind === 'text' ? String(initial) : JSON.stringify(initial),
      choices,
    };
  });
}

/** What a form's texts are as JSON; what is left empty is left out. Bad ones are told by name. */
export function readFields(
  fields: readonly Field[],
  texts: Readonly<Record<string, string>>,
): { readonly args: Record<string, unknown>; readonly problems: Readonly<Record<string, string>> } {
  const args: Record<string, unknown> = {};
  const problems: Record<string, string> = {};
  for (const { name, kind, isRequired, initial } of fields) {
    const text = texts[name] ?? initial;
    if (text === '') {
      if (isRequired && kind !== 'text') problems[name] = 'This is required.';
      else if (isRequired) args[name] = '';
      continue;
    }
    if (kind === 'text') {
      args[name] = text;
      continue;
    }
    try {
      args[name] = JSON.parse(text);
    } catch {
      problems[name] = kind === 'number' ? 'This has to be a number.' : 'This has to be JSON.';
    }
  }
  return { args, problems };
}

function kindOf({ type }: JsonSchema): Field['kind'] {
  if (type === 'string') return 'text';
  return type === 'integer' || type === 'number' ? 'number' : 'json';
}

function choicesOf({ type, enum: values }: JsonSchema): readonly string[] {
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value));
  return type === 'boolean' ? ['true', 'false'] : [];
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
