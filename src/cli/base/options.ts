import { InvalidArgumentError, Option } from 'commander';
import { isJsonObject, type JsonObject, type JsonSchema } from '../../contract/json.ts';
import { type Fork, forkSchema, type GradesQuery, gradesQuerySchema } from '../../contract/service/replay.ts';
import { readTextArguments } from '../../environment/authoring/schema/text-arguments.ts';
import { didYouMean } from '../../support/text/did-you-mean.ts';
import { withScheme } from '../../support/text/with-scheme.ts';
import { UsageError } from './failure.ts';

/** Creates a parser for whole numbers in a range, both ends included. */
export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^-?\d+$/.test(text) && Number.isSafeInteger(number) && number >= min && number <= max) return number;
    // The limits of safe integers appear only in the error for a number beyond them.
    const isBeyond = Number.isInteger(number) && !Number.isSafeInteger(number);
    const from = min === Number.MIN_SAFE_INTEGER && !isBeyond ? '' : ` from ${min}`;
    const to = max === Number.MAX_SAFE_INTEGER && !isBeyond ? '' : ` to ${max}`;
    throw new InvalidArgumentError(`It has to be a whole number${from}${to}.`);
  };
}

export const parsePort: (text: string) => number = wholeNumber(1, 65_535);

export function parseNumber(text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number)) throw new InvalidArgumentError('It has to be a number.');
  return number;
}

export function parseShare(text: string): number {
  const share = parseNumber(text);
  if (share >= 0 && share <= 1) return share;
  throw new InvalidArgumentError('It has to be a share from 0 to 1, such as 0.9.');
}

/** Parses the address of a run service. The result has no slash at the end. */
export function parseServiceUrl(text: string): string {
  if (/^https?:\/\//i.test(text) && URL.canParse(text)) return text.replace(/\/+$/, '');
  const fault = 'It has to be a URL that starts with http:// or https://.';
  throw new InvalidArgumentError(`${fault}${withScheme(text) ?? ''}`);
}

/** Option that rejects `--service` with a reason. Help does not list it. */
export function hereAlone(why: string): Option {
  return new Option('--service <url>').hideHelp().argParser(() => {
    const way = `run this command at the machine of that service, in the directory of the service`;
    throw new InvalidArgumentError(`${why}. Without --service, ${way}.`);
  });
}

/** Creates a parser that accepts one of these texts. */
export function oneOf<Choice extends string>(choices: readonly Choice[]): (text: string) => Choice {
  return (text) => {
    const chosen = choices.find((choice) => choice === text);
    if (chosen !== undefined) return chosen;
    throw new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.${didYouMean(text, choices)}`);
  };
}

/** Collects a repeatable option. */
export function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}

/** Parses a JSON object. */
export function parseSampling(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch {
    // Reported below.
  }
  throw new InvalidArgumentError('It has to be a JSON object such as {"top_p":0.9}.');
}

/** Parses `<trace_id>@<k>`: a trace and its step. */
export function parseFork(text: string): Fork {
  const [, trace_id = '', step] = /^([0-9a-f]{32})@(\d{1,3})$/.exec(text) ?? [];
  const fork = forkSchema.safeParse({ trace_id, after_step: Number(step) });
  if (fork.success) return fork.data;
  throw new InvalidArgumentError('It has to be the id of a trace, @ and a step: 0af7651916cd43dd8448eb211c80319c@4.');
}

/** @throws UsageError for a pair that is not name=value, and for a repeated name. */
export function parseMetadata(pairs: readonly string[] = []): Readonly<Record<string, string>> {
  const entries = pairs.map((pair) => splitPair('--metadata', pair));
  const names = entries.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`--metadata has ${JSON.stringify(twice)} twice.`);
  return Object.fromEntries(entries);
}

/**
 * Parses scenario arguments of `--args JSON` and `--arg name=value`; the second wins. If the schema takes a string,
 * the value is that text, in JSON quotes or without (`zip=19122`). Otherwise it is parsed as JSON (`3`, `true`,
 * `[1]`).
 */
export function parseScenarioArgs(
  json: string | undefined,
  pairs: readonly string[] = [],
  schema: JsonSchema = {},
): JsonObject {
  const texts = pairs.map((pair) => splitPair('--arg', pair));
  const read = readTextArguments(schema, Object.fromEntries(texts));
  const quoted = texts.flatMap(([name, text]) => {
    const unquoted = fromQuotes(text);
    return unquoted === undefined ? [] : [[name, unquoted]];
  });
  return { ...(json === undefined ? {} : parseJsonObject(json)), ...read, ...Object.fromEntries(quoted) };
}

function splitPair(option: string, pair: string): readonly [string, string] {
  const at = pair.indexOf('=');
  if (at < 1) throw new UsageError(`${option} takes name=value, not "${pair}".`);
  return [pair.slice(0, at), pair.slice(at + 1)];
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

function fromQuotes(text: string): string | undefined {
  if (!/^".*"$/s.test(text)) return undefined;
  try {
    return String(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** `--grades`: selects the rewards of a report or list. */
export function gradesOption(): Option {
  return new Option('--grades <grades>', 'rewards of the runs, or the newest grades (default recorded)').choices(
    gradesQuerySchema.options,
  );
}

/** Query parameters for `--grades`. */
export function byGrades(grades: GradesQuery | undefined): { readonly grades?: GradesQuery } {
  return grades === undefined ? {} : { grades };
}
