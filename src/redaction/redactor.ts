import { isJsonObject } from '../contract/json.ts';
import { SECRET_SHAPES, type SecretShape } from './secret-shapes.ts';

/** A value that this process knows to be secret. */
export interface Secret {
  /** Stands in `[redacted:<name>]`. */
  readonly name: string;
  readonly value: string;
}

/** Takes secrets out of what is stored, logged and exported. What a model or a tool gets is not its affair. */
export interface Redactor {
  /** The text with `[redacted:<name>]` in place of each secret; the very same text where there is none. */
  text(text: string): string;
  /** The same for every text and key inside of a JSON value; the very same value where there is no secret. */
  json<T>(value: T): T;
}

/** For an installation that says `redact: false`. */
export const NO_REDACTION: Redactor = { text: (text) => text, json: (value) => value };

/** A shorter value is part of too many words. */
const MIN_SECRET_LENGTH = 8;
/** Minimum length of one line of a multi-line secret, such as a private key: logs come line by line. */
const MIN_LINE_LENGTH = 16;

/** Values that are placeholders or names, not secrets. */
const PLACEHOLDERS: ReadonlySet<string> = new Set(
  (
    'anonymous changeme change-me change_me development disabled dummykey example fake-key guestguest lm-studio ' +
    'localhost no-key-is-configured not-needed notneeded password passwords placeholder postgres postgresql ' +
    'production required secretkey testtest undefined username your-api-key your_api_key yourapikey'
  ).split(' '),
);

/**
 * Known secrets, in each spelling in which they may turn up (as they are, in JSON, in a URL), and whatever has the shape
 * of a credential (`SECRET_SHAPES`). All expressions are compiled once. Texts without a sign of a secret, which are
 * nearly all, are looked through at about 1 ms for a megabyte.
 */
export function createRedactor(secrets: readonly Secret[] = []): Redactor {
  const names = new Map<string, string>();
  for (const { name, value } of secrets) {
    for (const spelling of spellingsOf(value)) if (!names.has(spelling)) names.set(spelling, toLabel(name));
  }
  const known = [...names.keys()];
  const expression = new RegExp(toSource(known), 'g');
  const signs = [SECRET_SHAPES.map(({ sign }) => sign), known.map(toSign)].map(toTest).filter((sign) => sign !== null);
  const replace = (match: string, ...rest: readonly unknown[]): string => {
    const groups = rest.at(-1) as Readonly<Record<string, string | undefined>>; // The expression has named groups.
    if (groups.known !== undefined) return `[redacted:${names.get(match)}]`;
    const index = SECRET_SHAPES.findIndex((_, each) => groups[`secret${each}`] !== undefined);
    const name = names.get(groups[`secret${index}`] ?? '') ?? SECRET_SHAPES[index]?.name;
    return `${groups[`before${index}`] ?? ''}[redacted:${name}]`;
  };
  const text = (given: string) => (signs.some((sign) => sign.test(given)) ? given.replace(expression, replace) : given);
  return { text, json: (value) => redactJson(value, text) };
}

/** A secret that is worth looking for: long enough, and nothing that ordinary texts are full of. */
function isRedactable(value: string): boolean {
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
    return text; // Half a surrogate pair is in no URL.
  }
}

/** Longest first, since the first alternative that fits is taken. */
function toSource(known: readonly string[]): string {
  const escaped = [...known].sort((a, b) => b.length - a.length).map(toPattern);
  const shapes = SECRET_SHAPES.map((shape, index) => toAlternative(shape, index, escaped));
  return [...(escaped.length === 0 ? [] : [`(?<known>${escaped.join('|')})`]), ...shapes].join('|');
}

function toTest(sources: readonly string[]): RegExp | null {
  return sources.length === 0 ? null : new RegExp(sources.join('|'));
}

/** The secret, looked for by the character in it that texts have fewest of. */
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

/** After a prefix a known secret counts whole, also where it has characters that the shape does not. */
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
  /** Entries of a copy, made at the first difference. */
  let entries: (readonly [string, unknown])[] | undefined;
  for (const [index, key] of keys.entries()) {
    const entry = [text(key), redactJson(value[key], text)] as const;
    if (entries === undefined && entry[0] === key && entry[1] === value[key]) continue;
    entries ??= keys.slice(0, index).map((before) => [before, value[before]] as const);
    entries.push(entry);
  }
  return entries === undefined ? value : Object.fromEntries(entries);
}
