import { InvalidArgumentError } from 'commander';
import { isJsonObject, type Json, type JsonObject } from '../contract/json.ts';
import { UsageError } from './failure.ts';

/** A whole number from 1. */
export function parseCount(text: string): number {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1)
    throw new InvalidArgumentError(`"${text}" is not a whole number from 1.`);
  return count;
}

export function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535)
    throw new InvalidArgumentError(`"${text}" is not a port (1 to 65535).`);
  return port;
}

export function parseNumber(text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number)) throw new InvalidArgumentError(`"${text}" is not a number.`);
  return number;
}

/** Collects a repeatable option. */
export function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}

/**
 * Scenario arguments of `--args JSON` and `--arg name=value`; the second wins. A value that is JSON is taken as such
 * (`3`, `true`, `[1]`), anything else as text; `--arg zip='"19122"'` keeps digits as text.
 */
export function parseScenarioArgs(json: string | undefined, pairs: readonly string[] = []): JsonObject {
  const args: JsonObject = json === undefined ? {} : parseJsonObject(json);
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw new UsageError(`--arg takes name=value, not "${pair}".`);
    args[pair.slice(0, at)] = parseValue(pair.slice(at + 1));
  }
  return args;
}

function parseJsonObject(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`--args takes a JSON object, and this is not JSON: ${text}`, { cause });
  }
  if (!isJsonObject(value)) throw new UsageError(`--args takes a JSON object, not ${text}`);
  return value;
}

function parseValue(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
