import type { JsonSchema } from '../../../contract/json.ts';
import { grouped } from '../../../support/text/figures.ts';
import { choicesOf, isSchema, optionsOf, type ResolvedSchema, resolveSchema } from './resolve-schema.ts';

/** One field of a schema, wherever it is in it. */
export interface SchemaRow {
  /** Path to it: `address.`, `items[].`; empty for the fields of the schema itself. */
  readonly path: string;
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  /** As JSON. */
  readonly initial: string | undefined;
  /** As JSON. */
  readonly choices: readonly string[];
  /** Bounds, lengths and patterns, in words. */
  readonly limits: readonly string[];
  readonly description: string;
}

/** Beyond these the schema itself has to be read: it may refer to itself without end. */
const MOST_ROWS = 200;
const DEEPEST = 6;
/** Schemas that are looked at: choices of choices become many without a field among them. */
const MOST_VISITS = 2_000;
/** Limits of a choice: its alternatives, and the depth of nested choices. */
const MOST_OPTIONS = 20;
const DEEPEST_OPTION = 2;

/** The fields of a schema, each followed by its own. */
export function toSchemaRows(schema: JsonSchema): {
  readonly rows: readonly SchemaRow[];
  /** True where there are more of them than are given. */
  readonly isCut: boolean;
} {
  const rows: SchemaRow[] = [];
  let isCut = false;
  let visits = 0;
  const isFull = () => rows.length >= MOST_ROWS || visits > MOST_VISITS;

  const addFieldsOf = ({ schema: parent }: ResolvedSchema, path: string, depth: number): void => {
    const required = new Set(Array.isArray(parent.required) ? parent.required : []);
    for (const [name, given] of fieldsOf(parent)) {
      // Too deep a schema ends here; the fields beside its path are still shown.
      if (isFull() || depth > DEEPEST) {
        isCut = true;
        return;
      }
      const field = resolveSchema(given, schema);
      rows.push({ ...toRow(field, schema), path, name, isRequired: required.has(name) });
      addInner(field, `${path}${name}`, depth + 1);
    }
    addOptionsOf(parent, path, depth);
  };

  const addInner = (field: ResolvedSchema, path: string, depth: number): void => {
    visits += 1;
    const { items } = field.schema;
    if (!isSchema(items)) addFieldsOf(field, path === '' ? '' : `${path}.`, depth);
    else if (isFull()) isCut = true;
    else addInner(resolveSchema(items, schema), `${path}[]`, depth);
  };

  const addOptionsOf = (parent: JsonSchema, path: string, depth: number): void => {
    for (const [index, option] of optionsOf(parent).entries()) {
      if (isFull() || depth > DEEPEST) {
        isCut = true;
        return;
      }
      visits += 1;
      addFieldsOf(resolveSchema(option, schema), `${path}(option ${index + 1}) `, depth + 1);
    }
  };

  addInner(resolveSchema(schema, schema), '', 0);
  return { rows, isCut };
}

function fieldsOf({ properties, additionalProperties }: JsonSchema): readonly (readonly [string, unknown])[] {
  const named = isSchema(properties) ? Object.entries(properties) : [];
  const isTold = isSchema(additionalProperties) && Object.keys(additionalProperties).length > 0;
  return isTold ? [...named, ['(any other name)', additionalProperties]] : named;
}

function toRow(field: ResolvedSchema, root: JsonSchema): Omit<SchemaRow, 'path' | 'name' | 'isRequired'> {
  const { schema } = field;
  return {
    type: typeOf(field, root),
    initial: schema.default === undefined ? undefined : JSON.stringify(schema.default),
    choices: schema.type === 'boolean' ? [] : choicesOf(schema).map((value) => JSON.stringify(value)),
    limits: limitsOf(schema),
    description: typeof schema.description === 'string' ? schema.description : '',
  };
}

function typeOf({ schema, isNullable }: ResolvedSchema, root: JsonSchema, depth = 0): string {
  const own = ownTypeOf(schema, root, depth);
  return isNullable && !own.endsWith(' or null') ? `${own} or null` : own;
}

function ownTypeOf(schema: JsonSchema, root: JsonSchema, depth: number): string {
  const { type, items } = schema;
  if (Array.isArray(type)) return type.map(String).join(' or ');
  if (type === 'array') {
    return isSchema(items) && depth < DEEPEST
      ? `array of ${typeOf(resolveSchema(items, root), root, depth + 1)}`
      : type;
  }
  if (typeof type === 'string') return type;
  const options = optionsOf(schema);
  if (options.length > 0 && depth < DEEPEST_OPTION) {
    const types = options.slice(0, MOST_OPTIONS).map((option) => typeOf(resolveSchema(option, root), root, depth + 1));
    return [...new Set(types)].join(' or ');
  }
  const [choice] = choicesOf(schema);
  if (choice !== undefined) return choice === null ? 'null' : typeof choice;
  return isSchema(schema.properties) ? 'object' : 'any';
}

function limitsOf(schema: JsonSchema): readonly string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, pattern, format } = schema;
  const lengths = range(schema.minLength, schema.maxLength);
  const counts = range(schema.minItems, schema.maxItems);
  return [
    typeof format === 'string' ? format : '',
    range(minimum, maximum),
    isBound(exclusiveMinimum) ? `more than ${exclusiveMinimum}` : '',
    isBound(exclusiveMaximum) ? `less than ${exclusiveMaximum}` : '',
    isBound(multipleOf) ? `a multiple of ${multipleOf}` : '',
    schema.minLength === 1 && schema.maxLength === undefined ? 'not empty' : withUnit(lengths, 'character'),
    withUnit(counts, 'item'),
    schema.uniqueItems === true ? 'each item once' : '',
    typeof pattern === 'string' ? `matches ${pattern}` : '',
  ].filter((text) => text !== '');
}

function range(least: unknown, most: unknown): string {
  if (isBound(least) && isBound(most)) {
    return least === most ? `exactly ${grouped(least)}` : `${grouped(least)} to ${grouped(most)}`;
  }
  if (isBound(least)) return `at least ${grouped(least)}`;
  return isBound(most) ? `at most ${grouped(most)}` : '';
}

function withUnit(range: string, unit: string): string {
  if (range === '') return '';
  return / 1$/.test(range) ? `${range} ${unit}` : `${range} ${unit}s`;
}

/** The bounds of what a number can hold exactly say nothing. */
function isBound(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER;
}
