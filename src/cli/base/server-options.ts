import { isDeepStrictEqual } from 'node:util';
import { InvalidArgumentError } from 'commander';
import { messageOf } from '../../contract/errors.ts';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import { resolveEnvironment } from '../../service/config/find-environments.ts';
import type { Installation } from '../../service/runs/installation.ts';
import { LONGEST_TIMER_MS } from '../../support/runtime/deadline.ts';
import { UsageError } from './failure.ts';
import { wholeNumber } from './options.ts';

/**
 * The environments that a server's command names by name, path or URL. Default: all of the directory.
 *
 * @throws UsageError if there are none, or if two have the same name.
 */
export function environmentsOf(
  { environments, directory, settings }: Installation,
  named: readonly string[],
  command: string,
): ReadonlyMap<string, EnvironmentTarget> {
  if (named.length === 0) {
    if (environments.size > 0) return environments;
    throw new UsageError(`There are no environments in this directory: name one: proctor ${command} <path|url>.`);
  }
  const found = new Map<string, EnvironmentTarget>();
  for (const { name, target } of named.map((text) =>
    resolveEnvironment(text, environments, directory, settings.sandbox),
  )) {
    const other = found.get(name);
    if (other !== undefined && !isDeepStrictEqual(other, target)) {
      throw new UsageError(
        `Two of the environments are named "${name}": give them names of their own in proctor.config.ts.`,
      );
    }
    found.set(name, target);
  }
  return found;
}

/** Parses a time to live in milliseconds. */
export const parseTtl = wholeNumber(1, LONGEST_TIMER_MS);

/** Rejects keys that no HTTP header can carry, and the empty key, which would look like no key. */
export function parseKey(text: string): string {
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new InvalidArgumentError('It has to be ASCII text without spaces.');
}

/** The value of an environment variable; undefined if it is unset or empty. */
export function fromVariable<Value>(name: string, parse: (text: string) => Value): Value | undefined {
  const text = process.env[name]?.trim() ?? '';
  if (text === '') return undefined;
  try {
    return parse(text);
  } catch (error) {
    // The message omits the value, since it may be a key.
    throw new UsageError(`${name}: ${messageOf(error)}`);
  }
}
