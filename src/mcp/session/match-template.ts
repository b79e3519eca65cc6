import type { UriTemplate } from '@modelcontextprotocol/server';

/** Characters that a URI may have where the template has operators, which other servers' may: the SDK matches those. */
const MAX_LENGTH_WITH_OPERATORS = 1_024;

/**
 * The values of a template's variables in a URI, percent-decoded: of what can be divided in several ways, the first ones
 * are the longest. Undefined where it does not match. Variables are not empty and have neither "/" nor ",".
 *
 * The time grows with the length of the URI alone. The SDK makes one expression of a template, which tries every way to
 * divide a segment between several variables: a few hundred characters would keep a process busy for ever.
 */
export function matchTemplate(template: UriTemplate, uri: string): Record<string, string> | undefined {
  const pieces = template.toString().split(/\{([^{}]*)\}/);
  const names = pieces.filter((_, index) => index % 2 === 1);
  const literals = pieces.filter((_, index) => index % 2 === 0);
  if (!names.every((name) => PLAIN_NAME.test(name))) return matchWithOperators(template, uri);
  const values = matchPlain(literals, uri);
  return values && decode(names.map((name, index) => [name, values[index] ?? '']));
}

const PLAIN_NAME = /^[A-Za-z0-9_.]+$/;

/** From the end on, each literal as far to the right as it can be: where that fails, no other place would do. */
function matchPlain(literals: readonly string[], uri: string): readonly string[] | undefined {
  const [first = '', ...rest] = literals;
  const last = rest.pop() ?? '';
  if (!uri.startsWith(first) || !uri.endsWith(last)) return undefined;
  const values: string[] = [];
  let end = uri.length - last.length;
  for (const literal of rest.reverse()) {
    const found = uri.lastIndexOf(literal, end - 1 - literal.length);
    if (found < first.length || end - 1 - literal.length < 0) return undefined;
    values.unshift(uri.slice(found + literal.length, end));
    end = found;
  }
  values.unshift(end > first.length ? uri.slice(first.length, end) : '');
  return values.every((value) => value !== '' && !/[/,]/.test(value)) ? values : undefined;
}

function matchWithOperators(template: UriTemplate, uri: string): Record<string, string> | undefined {
  const found = uri.length > MAX_LENGTH_WITH_OPERATORS ? null : template.match(uri);
  return found === null ? undefined : decode(Object.entries(found).map(([name, value]) => [name, String(value)]));
}

function decode(values: readonly (readonly [string, string])[]): Record<string, string> | undefined {
  try {
    return values.length === 0
      ? undefined
      : Object.fromEntries(values.map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch {
    // Not percent-encoded: no resource has such a URI.
    return undefined;
  }
}
