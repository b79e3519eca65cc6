import { isJsonObject } from '../../contract/json.ts';
import { SECRET_SHAPES, type SecretShape } from './secret-shapes.ts';

/** A value that this process knows to be secret. */
export interface Secret {
  /** Name in `[redacted:<name>]`. */
  readonly name: string;
  readonly value: string;
}

/** Removes secrets from stored, logged and exported texts, and known secrets from requests to gateways. */
export interface Redactor {
  /** Replaces each secret by `[redacted:<name>]`. A text without secrets is returned unchanged. */
  text(text: string): string;
  /** Redacts every text and key inside of a JSON value. A value without secrets is returned as the same object. */
  json<T>(value: T): T;
  /** The arguments of `createRedactor` that make an equal one in another thread. Absent if there are none. */
  parts?(): RedactorParts;
}

/** Plain data, which threads can pass on. */
export interface RedactorParts {
  readonly secrets: readonly Secret[];
  readonly shapes: readonly SecretShape[];
}

/** The redactor of an installation with `redact: false`. */
export const NO_REDACTION: Redactor = {
  text: (text) => text,
  json: (value) => value,
  parts: () => ({ secrets: [], shapes: [] }),
};

/** Shorter values are parts of too many words. */
const MIN_SECRET_LENGTH = 8;
/**
 * Minimum length of one line of a multi-line secret, such as a private key, because logs split such secrets into lines.
 */
const MIN_LINE_LENGTH = 16;

/** Values that are placeholders or common names. */
const PLACEHOLDERS: ReadonlySet<string> = new Set(
  (
    'anonymous changeme change-me change_me development disabled dummykey example fake-key guestguest lm-studio ' +
    'localhost no-key-is-configured not-needed notneeded password passwords placeholder postgres postgresql ' +
    'production required secretkey testtest undefined username your-api-key your_api_key yourapikey'
  ).split(' '),
);

/**
 * Creates a redactor for known secrets in each spelling (plain, in JSON, in a URL), and for texts in the form of a
 * credential (`SECRET_SHAPES`). All expressions are compiled once. Most texts have no sign of a secret and take about 1
 * ms per megabyte.
 *
 * @param shapes empty when only known secrets should be removed.
 */
export function createRedactor(
  secrets: readonly Secret[] = [],
  shapes: readonly SecretShape[] = SECRET_SHAPES,
): Required<Redactor> {
  const names = new Map<string, string>();
  for (const { name, value } of secrets) {
    for (const spelling of spellingsOf(value)) if (!names.has(spelling)) names.set(spelling, toLabel(name));
  }
  const known = [...names.keys()];
  const expression = new RegExp(toSource(known, shapes), 'g');
  const signs = [shapes.map(({ sign }) => sign), known.map(toSign)].map(toTest).filter((sign) => sign !== null);
  const replace = (match: string, ...rest: readonly unknown[]): string => {
    const groups = rest.at(-1) as Readonly<Record<string, string | undefined>>; // The expression has named groups.
    if (groups.known !== undefined) return `[redacted:${names.get(match)}]`;
    const index = shapes.findIndex((_, each) => groups[`secret${each}`] !== undefined);
    const name = names.get(groups[`secret${index}`] ?? '') ?? shapes[index]?.name;
    return `${groups[`before${index}`] ?? ''}[redacted:${name}]`;
  };
  const text = (given: string) => (signs.some((sign) => sign.test(given)) ? given.replace(expression, replace) : given);
  return { text, json: (value) => redactJson(value, text), parts: () => ({ secrets, shapes }) };
}

/** True for a value that is long enough and not a common word or number. */
export function isRedactable(value: string): boolean {
  if (value.length < MIN_SECRET_LENGTH || PLACEHOLDERS.has(value.toLowerCase())) return false;
  return !/^[0-9]{1,11}$/.test(value) && !/^(.)\1*$/.test(value);
}

function spellingsOf(secret: string): readonly string[] {
  const value = secret.trim();
  if (!isRedactable(value)) return [];
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  const long = lines.length === 1 ? [] : lines.filter((line) => line.length >= MIN_LINE_LENGTH && !/^-----/.test(line));
  return [value, ...long].flatMap((text) => [text, JSON.stringify(text).slice(1, -1), encodeUri(text)]);
}

function encodeUri(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return text; // A lone surrogate cannot be part of a URL.
  }
}

/** Longer secrets come first, because the first matching alternative wins. */
function toSource(known: readonly string[], shapes: readonly SecretShape[]): string {
  const escaped = [...known].sort((a, b) => b.length - a.length).map(toPattern);
  const alternatives = shapes.map((shape, index) => toAlternative(shape, index, escaped));
  return [...(escaped.length === 0 ? [] : [`(?<known>${escaped.join('|')})`]), ...alternatives].join('|');
}

function toTest(sources: readonly string[]): RegExp | null {
  return sources.length === 0 ? null : new RegExp(sources.join('|'));
}

/** A fast pattern for a secret: it searches for the secret's rarest character. */
function toSign(secret: string): string {
  let at = 0;
  for (let index = 1; index < secret.length; index++) {
    if (commonness(secret.charAt(index)) < commonness(secret.charAt(at))) at = index;
  }
  const before = toPattern(secret.slice(0, at + 1));
  return `${toPattern(secret.charAt(at))}(?<=${before})${toPattern(secret.slice(at + 1))}`;
}

function commonness(character: string): number {
  if (/[^A-Za-z0-9]/.test(character)) return /[\s._/"'\\-]/.test(character) ? 3 : 0;
  if (/[A-Z]/.test(character)) return 0;
  return /[0-9jqxz]/.test(character) ? 1 : 2;
}

/**
 * A shape as an alternative of the expression. After its prefix a known secret is matched as a whole, even with
 * characters that the shape excludes.
 */
function toAlternative({ before, secret, after = '' }: SecretShape, index: number, known: readonly string[]): string {
  if (before === undefined) return `(?<secret${index}>${secret})`;
  const following = after === '' ? '' : `(?=${after})`;
  return `(?<before${index}>${before})(?<secret${index}>${[...known, `${secret}${following}`].join('|')})`;
}

function toPattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}

function toLabel(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_.-]+/g, '_').slice(0, 64) || 'secret';
}

function redactJson<T>(value: T, text: (text: string) => string): T;
function redactJson(value: unknown, text: (text: string) => string): unknown {
  if (typeof value === 'string') return text(value);
  if (Array.isArray(value)) {
    let copy: unknown[] | undefined;
    for (let index = 0; index < value.length; index++) {
      const redacted = redactJson(value[index], text);
      if (redacted === value[index]) continue;
      copy ??= [...value];
      copy[index] = redacted;
    }
    return copy ?? value;
  }
  if (!isJsonObject(value)) return value;
  const keys = Object.keys(value);
  /** Copied entries; undefined until the first difference. */
  let entries: (readonly [string, unknown])[] | undefined;
  for (const [index, key] of keys.entries()) {
    const entry = [text(key), redactJson(value[key], text)] as const;
    if (entries === undefined && entry[0] === key && entry[1] === value[key]) continue;
    entries ??= keys.slice(0, index).map((before) => [before, value[before]] as const);
    entries.push(entry);
  }
  return entries === undefined ? value : Object.fromEntries(entries);
}
