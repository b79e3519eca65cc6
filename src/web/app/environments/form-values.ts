import type { JsonSchema } from '../../../contract/json.ts';
import type { ScenarioEntry } from '../../../contract/scenario.ts';
import { choicesOf, isSchema, resolveSchema } from './resolve-schema.ts';

/** One argument of a scenario or a tool, as a form asks for it. */
export interface Field {
  readonly name: string;
  readonly kind: 'line' | 'text' | 'number' | 'choice' | 'json';
  /** A number without a fraction; a JSON value that has to be an array or an object. Null: anything. */
  readonly shape: 'integer' | 'array' | 'object' | null;
  readonly isRequired: boolean;
  readonly isNullable: boolean;
  /** Characters, of a text. */
  readonly minLength: number;
  readonly description: string;
  /** The numbers that it takes, such as `1 to 10`; empty: any. */
  readonly range: string;
  /** Initial text; empty: none. */
  readonly initial: string;
  /** `text` is what is shown and picked; `value` what is sent. */
  readonly choices: readonly { readonly text: string; readonly value: unknown }[];
}

export interface ReadFields {
  readonly args: Record<string, unknown>;
  /** Problems by the name of the field. */
  readonly problems: Readonly<Record<string, string>>;
}

/** A default that is longer, or has lines, needs room; so does what may be as long. In characters. */
const LONG_LINE = 80;
const LONG_TEXT = 200;

/** The arguments of a scenario in the order in which it declares them. */
export function toFields({ arguments: declared, args_schema }: ScenarioEntry): readonly Field[] {
  const properties = resolveSchema(args_schema, args_schema).schema.properties;
  return declared.map(({ name, required, description, default: initial }) => {
    const given = isSchema(properties) && Object.hasOwn(properties, name) ? properties[name] : {};
    return toField({ name, isRequired: required, description: description ?? '', initial }, given, args_schema);
  });
}

/** The properties of an object's schema. */
export function toSchemaFields(schema: JsonSchema): readonly Field[] {
  const { properties, required } = resolveSchema(schema, schema).schema;
  const names = new Set(Array.isArray(required) ? required : []);
  return Object.entries(isSchema(properties) ? properties : {}).map(([name, given]) => {
    const { description, default: initial } = resolveSchema(given, schema).schema;
    const about = typeof description === 'string' ? description : '';
    return toField({ name, isRequired: names.has(name), description: about, initial }, given, schema);
  });
}

/** The field of one value, whose schema `given` is in `root`. */
export function toField(
  about: Pick<Field, 'name' | 'isRequired' | 'description'> & { readonly initial?: unknown },
  given: unknown,
  root: JsonSchema,
): Field {
  const { schema, isNullable } = resolveSchema(given, root);
  const choices = toChoices(schema);
  const kind = choices.length > 0 ? 'choice' : kindOf(schema, about.initial);
  return {
    name: about.name,
    kind,
    shape: shapeOf(schema),
    isRequired: about.isRequired,
    isNullable,
    minLength: typeof schema.minLength === 'number' ? schema.minLength : 0,
    description: about.description,
    range: kind === 'number' ? rangeOf(schema) : '',
    initial: toFieldText(about.initial, { kind, choices }),
    choices,
  };
}

/** The texts of a form as JSON without the empty ones. Problems are listed by name. */
export function readFields(fields: readonly Field[], texts: Readonly<Record<string, string>>): ReadFields {
  const args: [string, unknown][] = [];
  const problems: [string, string][] = [];
  for (const field of fields) {
    const read = readField(field, ownOf(texts, field.name) ?? field.initial);
    if (read === undefined) continue;
    if ('problem' in read) problems.push([field.name, read.problem]);
    else args.push([field.name, read.value]);
  }
  // An argument may be named as what every object has: `constructor`, `__proto__`.
  return { args: Object.fromEntries(args), problems: Object.fromEntries(problems) };
}

/** The own property of a name that an environment chose. */
export function ownOf(values: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

function readField(field: Field, text: string): { readonly value: unknown } | { readonly problem: string } | undefined {
  const { kind, isRequired, isNullable, minLength, choices } = field;
  const isText = kind === 'line' || kind === 'text';
  if (isText ? text === '' : text.trim() === '') {
    if (!isRequired) return undefined;
    if (isNullable) return { value: null };
    return isText && minLength === 0 ? { value: '' } : { problem: 'This is required.' };
  }
  if (isText) return { value: text };
  if (kind !== 'choice') return readJson(field, text);
  const choice = choices.find((each) => each.text === text);
  return choice === undefined ? { problem: 'This is none of the choices.' } : { value: choice.value };
}

function readJson({ kind, shape }: Field, text: string): { readonly value: unknown } | { readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (kind === 'number') return { problem: 'This has to be a number.' };
    return { problem: `This has to be JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
  if (kind === 'number' && typeof value !== 'number') return { problem: 'This has to be a number.' };
  if (shape === 'integer' && !Number.isInteger(value)) return { problem: 'This has to be a whole number.' };
  if (shape === 'array' && !Array.isArray(value)) return { problem: 'This has to be a list: […]' };
  if (shape === 'object' && !isSchema(value)) return { problem: 'This has to be an object: {…}' };
  return { value };
}

/** The argument that a service found at fault, also where the fault is deep in it: `scenario_args.items[0].id`. */
export function argumentAt(param: string | null): string | undefined {
  return /^scenario_args\.([^.[]+)/.exec(param ?? '')?.[1];
}

function rangeOf({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchema): string {
  if (isBound(minimum) && isBound(maximum)) return `${minimum} to ${maximum}`;
  const from = isBound(minimum) ? `at least ${minimum}` : isBound(exclusiveMinimum) ? `over ${exclusiveMinimum}` : '';
  const to = isBound(maximum) ? `at most ${maximum}` : isBound(exclusiveMaximum) ? `under ${exclusiveMaximum}` : '';
  return [from, to].filter((part) => part !== '').join(', ');
}

/** Schemas bound whole numbers by the largest that a computer counts to, which tells a person nothing. */
function isBound(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER;
}

function kindOf({ type, maxLength }: JsonSchema, initial: unknown): Field['kind'] {
  if (type === 'integer' || type === 'number') return 'number';
  if (type !== 'string') return 'json';
  const isLong = typeof initial === 'string' && (initial.length > LONG_LINE || initial.includes('\n'));
  return isLong || (typeof maxLength === 'number' && maxLength >= LONG_TEXT) ? 'text' : 'line';
}

function shapeOf({ type }: JsonSchema): Field['shape'] {
  return type === 'integer' || type === 'array' || type === 'object' ? type : null;
}

/** Texts are shown as they are, unless that would make two choices look the same. */
function toChoices(schema: JsonSchema): Field['choices'] {
  const values = choicesOf(schema);
  const isPlain = values.every((value) => typeof value === 'string' && value !== '');
  return values.map((value) => ({ text: isPlain ? String(value) : JSON.stringify(value), value }));
}

function toFieldText(initial: unknown, { kind, choices }: Pick<Field, 'kind' | 'choices'>): string {
  if (initial === null || initial === undefined) return '';
  if (kind === 'choice') {
    return choices.find(({ value }) => JSON.stringify(value) === JSON.stringify(initial))?.text ?? '';
  }
  if (kind === 'line' || kind === 'text') return String(initial);
  return JSON.stringify(initial, null, kind === 'json' ? 2 : 0);
}
