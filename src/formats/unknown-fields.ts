import { isJsonObject } from '../contract/json.ts';
import type { Losses } from './losses.ts';

const MAX_FIELD = 100;

/**
 * Takes note of the fields of an object that have a value and that nobody reads. A field of the machine that wrote the
 * file, or of a newer version, is lost and not a fault.
 */
export function loseOthers(given: unknown, known: readonly string[], path: string, losses: Losses): void {
  if (!isJsonObject(given)) return;
  for (const [name, value] of Object.entries(given)) {
    if (known.includes(name) || isEmpty(value)) continue;
    losses.add(`${path}${path === '' ? '' : '.'}${name.slice(0, MAX_FIELD)}`, 'traces have no such field');
  }
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
