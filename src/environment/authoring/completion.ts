import { isJsonObject, type JsonSchema } from '../../contract/json.ts';
import type { Completer } from './definition.ts';

/** @throws TypeError for an argument that does not exist, and for a completer of the wrong type. */
export function checkCompleters(
  where: string,
  given: Readonly<Record<string, Completer | undefined>> | undefined,
  names: readonly string[],
): ReadonlyMap<string, Completer> {
  const completers = new Map<string, Completer>();
  for (const [name, completer] of Object.entries(given ?? {})) {
    if (completer === undefined) continue;
    if (!names.includes(name)) {
      const known = names.join(', ') || 'none';
      throw new TypeError(`${where}: complete has "${name}", which is not one of its arguments: ${known}`);
    }
    const isList = Array.isArray(completer) && completer.every((value) => typeof value === 'string');
    if (!isList && typeof completer !== 'function') {
      throw new TypeError(`${where}: complete.${name} has to be a list of texts or a function that gives one`);
    }
    completers.set(name, completer);
  }
  return completers;
}

/** Completers for the arguments whose schema lists the possible values. */
export function enumCompleters(schema: JsonSchema): ReadonlyMap<string, Completer> {
  const completers = new Map<string, Completer>();
  for (const [name, property] of Object.entries(isJsonObject(schema.properties) ? schema.properties : {})) {
    const values = listedValues(property);
    if (values !== undefined) completers.set(name, values);
  }
  return completers;
}

/**
 * Adds the possible values to the description of an argument of an MCP prompt, because MCP does not send its schema.
 */
export function withChoices(description: string | undefined, schema: unknown): string | undefined {
  const values = listedValues(schema);
  if (values === undefined || values.length === 0) return description;
  const more = values.length > MAX_CHOICES ? ` and ${values.length - MAX_CHOICES} more` : '';
  const choices = `One of: ${values.slice(0, MAX_CHOICES).join(', ')}${more}.`;
  return description === undefined ? choices : `${description} ${choices}`;
}

/** Maximum number of choices that a description lists. */
const MAX_CHOICES = 20;

function listedValues(schema: unknown): string[] | undefined {
  if (!isJsonObject(schema)) return undefined;
  if (Array.isArray(schema.enum)) return schema.enum.filter((value) => value !== null).map(String);
  if ('const' in schema) return [String(schema.const)];
  if (schema.type === 'boolean') return ['true', 'false'];
  const variants = [schema.anyOf, schema.oneOf].find(Array.isArray);
  const lists = (variants ?? []).filter((variant) => !isNull(variant)).map(listedValues);
  return lists.length > 0 && lists.every((list) => list !== undefined) ? lists.flat() : undefined;
}

function isNull(schema: unknown): boolean {
  return isJsonObject(schema) && schema.type === 'null';
}
