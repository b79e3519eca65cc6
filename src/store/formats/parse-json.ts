import { messageOf } from '../../contract/errors.ts';
import { isNestedDeeper } from '../../contract/json-depth.ts';
import type { ImportLimits } from './import-limits.ts';
import { FormatError } from './imported-trace.ts';

/**
 * Parses a JSON text. `NaN` and `Infinity`, which Python writes although JSON forbids them, become null.
 *
 * @throws FormatError for a text that is not JSON or is over the limits.
 */
export function parseJson(text: string, { depth, values }: ImportLimits, label = 'The file'): unknown {
  if (hasMoreThan(values, text)) {
    throw new FormatError(`${label} has more than ${values} objects and lists, which is the limit.`);
  }
  if (isNestedDeeper(text, depth))
    throw new FormatError(`${label} is nested deeper than ${depth} levels, which is the limit.`);
  return parse(text.startsWith('\uFEFF') ? text.slice(1) : text, label);
}

/** Counts brackets before parsing, including those inside of strings, which are few compared with the limit. */
function hasMoreThan(limit: number, text: string): boolean {
  if (text.length <= limit) return false;
  let count = 0;
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      count += 1;
      if (count > limit) return true;
    }
  }
  return false;
}

function parse(text: string, label: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!/NaN|Infinity/.test(text)) throw notJson(label, error);
  }
  try {
    return JSON.parse(withoutNonNumbers(text));
  } catch (error) {
    throw notJson(label, error);
  }
}

function notJson(label: string, error: unknown): FormatError {
  return new FormatError(`${label} is no JSON: ${messageOf(error).slice(0, 200)}.`, { cause: error });
}

/** Strings are skipped, because they may contain such a word. */
function withoutNonNumbers(text: string): string {
  const pieces: string[] = [];
  let start = 0;
  while (start < text.length) {
    const quote = text.indexOf('"', start);
    const end = quote === -1 ? text.length : quote;
    pieces.push(text.slice(start, end).replaceAll(/\bNaN\b|-?\bInfinity\b/g, 'null'));
    if (quote === -1) break;
    const close = endOfText(text, quote);
    pieces.push(text.slice(quote, close));
    start = close;
  }
  return pieces.join('');
}

function endOfText(text: string, quote: number): number {
  for (let at = quote + 1; ; ) {
    const close = text.indexOf('"', at);
    if (close === -1) return text.length;
    let slashes = 0;
    while (text[close - 1 - slashes] === '\\') slashes += 1;
    if (slashes % 2 === 0) return close + 1;
    at = close + 1;
  }
}
