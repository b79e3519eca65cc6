import { isJsonObject } from '../../contract/json.ts';
import type { Losses } from './losses.ts';

const MAX_FIELD = 100;

/**
 * Notes a loss for each field of an object that has a value and is not known. Fields of other machines or newer
 * versions are losses and not errors.
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
