import { InvalidArgumentError } from 'commander';
import type { Budget } from '../../../contract/service/evaluation.ts';

const UNITS: Readonly<Record<string, number>> = { '': 1, k: 1_000, m: 1_000_000, g: 1_000_000_000 };

/** Parses `5usd`, `$5`, `2Mtok` or `500ktok`. The option may be given twice, once for each kind. */
export function parseBudget(text: string, earlier: Budget = {}): Budget {
  const word = text.trim().toLowerCase();
  const [, dollars] = /^(?:\$|usd)?(\d+(?:\.\d+)?)(?:usd|\$)?$/.exec(word) ?? [];
  if (dollars !== undefined && /usd|\$/.test(word)) return withAmount(earlier, 'usd', Number(dollars));
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)([kmg]?)tok(?:ens?)?$/.exec(word) ?? [];
  if (count !== undefined) return withAmount(earlier, 'tokens', Math.round(Number(count) * (UNITS[unit] ?? 1)));
  throw new InvalidArgumentError('It has to be an amount such as 5usd, 0.50usd, 2Mtok or 500ktok.');
}

function withAmount(earlier: Budget, kind: keyof Budget, amount: number): Budget {
  if (earlier[kind] !== undefined) throw new InvalidArgumentError(`There is a budget in ${kind} already.`);
  if (amount > 0 && Number.isFinite(amount) && amount <= Number.MAX_SAFE_INTEGER) return { ...earlier, [kind]: amount };
  throw new InvalidArgumentError('It has to be more than nothing, and a number that can be counted.');
}
