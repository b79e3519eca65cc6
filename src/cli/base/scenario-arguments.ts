import { ApiError } from '../../contract/errors.ts';
import { isJsonObject, type JsonObject, type JsonSchema } from '../../contract/json.ts';
import type { ScenarioEntry } from '../../contract/scenario.ts';
import { checkScenarioArgs } from '../../environment/client/scenario-args.ts';
import { displayWidth, padToWidth } from '../../support/text/display-width.ts';
import { shellQuoted } from '../../support/text/shell-quote.ts';
import { UsageError } from './failure.ts';
import { parseScenarioArgs } from './options.ts';
import { printable } from './terminal.ts';
import { asTyped } from './typed-command.ts';

export interface ArgumentOptions {
  readonly arg?: readonly string[];
  readonly args?: string;
}

/** Start of an example command: `proctor run counter`. */
export type CommandStart = `proctor ${string}`;

/**
 * Reads the scenario arguments of a command and validates them.
 *
 * @throws UsageError with the known arguments and an example command.
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

/** Creates the error for a missing scenario, with the list of scenarios. */
export function scenarioMissing(
  environment: string,
  scenarios: readonly ScenarioEntry[],
  command: CommandStart,
): UsageError {
  if (scenarios.length === 0) return new UsageError(`The environment "${environment}" has no scenarios.`);
  const lines = scenarios.flatMap((entry) => describeScenario(entry, command));
  return new UsageError([`Name a scenario of "${environment}":`, ...lines].join('\n'));
}

/** Describes a scenario: name, description, arguments and an example command. */
export function describeScenario(entry: ScenarioEntry, command: CommandStart): readonly string[] {
  const description = entry.description === '' ? '' : `: ${printable(entry.description)}`;
  const details = [...describeArguments(entry), `  $ ${exampleOf(entry, command)}`];
  return [`  ${printable(entry.short_name)}${description}`, ...details.map((line) => `  ${line}`)];
}

/** One line for each argument: name, type, whether it is required, and its description. */
function describeArguments({ arguments: known, args_schema }: ScenarioEntry): readonly string[] {
  const names = known.map(({ name }) => printable(name));
  const width = Math.max(0, ...names.map(displayWidth));
  return known.map((argument, index) => {
    const need = argument.required ? 'required' : `default ${JSON.stringify(argument.default)}`;
    const takes = describeType(schemaOf(args_schema, argument.name), argument.type);
    const description = argument.description === null ? '' : `: ${printable(argument.description)}`;
    const isOptional = !argument.required && argument.default === null;
    return `  ${padToWidth(names[index] ?? '', width)}  ${takes}, ${isOptional ? 'optional' : printable(need)}${description}`;
  });
}

/**
 * Example command with the required arguments: `proctor run counter count_to --arg target=3`. Values come from the
 * schema.
 */
function exampleOf(entry: ScenarioEntry, command: CommandStart): string {
  const given = entry.arguments
    .filter(({ required }) => required)
    .map(
      ({ name, type }) => ` --arg ${shellQuoted(`${name}=${exampleValue(schemaOf(entry.args_schema, name), type)}`)}`,
    );
  return printable(asTyped(`npx ${command} ${entry.short_name}${given.join('')}`), 1_000);
}

function schemaOf(schema: JsonSchema, name: string): JsonSchema {
  const { properties } = schema;
  const property = isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isJsonObject(property) ? property : {};
}

/** Type of an argument: `"small" | "large"`, `integer from 0 to 9`, `string`. */
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
