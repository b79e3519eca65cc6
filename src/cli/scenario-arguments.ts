import { checkScenarioArgs } from '../client/scenario-args.ts';
import { ApiError } from '../contract/errors.ts';
import { isJsonObject, type JsonObject, type JsonSchema } from '../contract/json.ts';
import type { ScenarioEntry } from '../contract/scenario.ts';
import { UsageError } from './failure.ts';
import { parseScenarioArgs } from './options.ts';
import { printable } from './terminal.ts';

export interface ArgumentOptions {
  readonly arg?: readonly string[];
  readonly args?: string;
}

/** How the command goes on: `proctor run counter`. */
export type CommandStart = `proctor ${string}`;

/**
 * The arguments that the options of a command give a scenario, checked by its schema.
 *
 * @throws UsageError that shows the arguments that there are, and a command that gives them.
 */
export function readScenarioArgs(entry: ScenarioEntry, options: ArgumentOptions, command: CommandStart): JsonObject {
  const args = parseScenarioArgs(options.args, options.arg, entry.args_schema);
  try {
    checkScenarioArgs(entry, args);
    return args;
  } catch (error) {
    if (!(error instanceof ApiError) || entry.arguments.length === 0) throw error;
    const shown = [...describeArguments(entry), '', 'For example:', `  $ ${exampleOf(entry, command)}`];
    throw new UsageError([error.message, '', 'Arguments:', ...shown].join('\n'));
  }
}

/** The error of a command that names no scenario: it shows those that there are. */
export function scenarioMissing(
  environment: string,
  scenarios: readonly ScenarioEntry[],
  command: CommandStart,
): UsageError {
  if (scenarios.length === 0) return new UsageError(`The environment "${environment}" has no scenarios.`);
  const lines = scenarios.flatMap((entry) => describeScenario(entry, command));
  return new UsageError([`Name a scenario of "${environment}":`, ...lines].join('\n'));
}

/** Its name and what it is, its arguments, and a command that plays it. */
export function describeScenario(entry: ScenarioEntry, command: CommandStart): readonly string[] {
  const description = entry.description === '' ? '' : `: ${printable(entry.description)}`;
  const details = [...describeArguments(entry), `  $ ${exampleOf(entry, command)}`];
  return [`  ${printable(entry.short_name)}${description}`, ...details.map((line) => `  ${line}`)];
}

/** A line for each argument of a scenario: name, what it takes, whether it is needed, and what it means. */
function describeArguments({ arguments: known, args_schema }: ScenarioEntry): readonly string[] {
  const names = known.map(({ name }) => printable(name));
  const width = Math.max(0, ...names.map((name) => name.length));
  return known.map((argument, index) => {
    const need = argument.required ? 'required' : `default ${JSON.stringify(argument.default)}`;
    const takes = describeType(schemaOf(args_schema, argument.name), argument.type);
    const description = argument.description === null ? '' : `: ${printable(argument.description)}`;
    const isOptional = !argument.required && argument.default === null;
    return `  ${(names[index] ?? '').padEnd(width)}  ${takes}, ${isOptional ? 'optional' : printable(need)}${description}`;
  });
}

/** `proctor run counter count_to --arg target=3`: what is required, with values that its schema takes where those are plain. */
function exampleOf(entry: ScenarioEntry, command: CommandStart): string {
  const given = entry.arguments
    .filter(({ required }) => required)
    .map(({ name, type }) => ` --arg ${quoted(`${name}=${exampleValue(schemaOf(entry.args_schema, name), type)}`)}`);
  return printable(`npx ${command} ${entry.short_name}${given.join('')}`, 1_000);
}

/** A word of a shell. */
function quoted(word: string): string {
  return /^[\w=.,:/@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function schemaOf(schema: JsonSchema, name: string): JsonSchema {
  const { properties } = schema;
  const property = isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isJsonObject(property) ? property : {};
}

/** `"small" | "large"`, `integer from 0 to 9`, `string` */
function describeType(schema: JsonSchema, type: string): string {
  const choices = choicesOf(schema);
  if (choices !== undefined) return printable(choices.map((choice) => JSON.stringify(choice)).join(' | '));
  const { minimum, maximum } = schema;
  const from = typeof minimum === 'number' && minimum !== Number.MIN_SAFE_INTEGER ? ` from ${minimum}` : '';
  const to = typeof maximum === 'number' && maximum !== Number.MAX_SAFE_INTEGER ? ` to ${maximum}` : '';
  return `${type}${from}${to}`;
}

function choicesOf(schema: JsonSchema): readonly unknown[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum;
  return 'const' in schema ? [schema.const] : undefined;
}

function exampleValue(schema: JsonSchema, type: string): string {
  const [example] = Array.isArray(schema.examples) ? schema.examples : [];
  const [choice] = choicesOf(schema) ?? [];
  const value = example ?? choice;
  if (value !== undefined) return typeof value === 'string' ? value : JSON.stringify(value);
  const { minimum } = schema;
  if (type === 'integer' || type === 'number') return String(Math.max(1, typeof minimum === 'number' ? minimum : 1));
  if (type === 'boolean') return 'true';
  if (type === 'array') return '[]';
  return type === 'object' ? '{}' : '...';
}
