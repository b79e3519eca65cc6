import type { UriTemplate } from '@modelcontextprotocol/server';

/**
 * Maximum number of characters of a URI that the SDK matches. It matches templates with operators, which other servers
 * may have.
 */
const MAX_LENGTH_WITH_OPERATORS = 1_024;

/**
 * The percent-decoded values of a template's variables in a URI. If a URI can be divided in several ways, the first
 * values are the longest. Undefined if it does not match. Values are not empty and contain neither "/" nor ",".
 *
 * The time grows only with the length of the URI. The SDK uses one regular expression, which tries every way to divide
 * a segment: a few hundred characters could block the process forever.
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

/** Matches from the end, each literal as far right as possible. If that fails, no other position fits. */
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
    // The URI is not percent-encoded correctly, so it matches no resource.
    return undefined;
  }
}
