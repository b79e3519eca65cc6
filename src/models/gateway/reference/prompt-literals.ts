import type { TranscriptMessage } from '../../../contract/chat.ts';
import { textOfContent } from '../../../contract/content-text.ts';
import type { Json, JsonSchema } from '../../../contract/json.ts';
import { isJsonObject } from '../../../contract/json.ts';
import { validateJsonSchema } from '../../../support/schema/json-schema.ts';
import { smallestValue } from './smallest-value.ts';

/** Most literals of a prompt. */
const MAX_LITERALS = 12;
/** Matches quoted texts, numbers, and words with a digit, an underscore or inner capitals. */
const LITERAL =
  /"([^"\n]{1,200})"|'([^'\n]{1,200})'|`([^`\n]{1,200})`|(?<![\w.])(-?\d[\d.,_]*\d|-?\d)(?![\w])|\b([A-Za-z]*[\d_#-]*[A-Z\d_]{2,}[\w-]*)\b/g;

/** Texts in a prompt that an agent could take for its answer: quoted texts, numbers and names, in order. */
export function literalsOf(text: string): readonly string[] {
  const found = [...text.matchAll(LITERAL)].map((match) => match.slice(1).find((group) => group !== undefined) ?? '');
  return [...new Set(found.map((each) => each.trim()).filter((each) => each !== ''))].slice(0, MAX_LITERALS);
}

/** All text that the scenario has given to its agent. */
export function promptTextOf(messages: readonly TranscriptMessage[]): string {
  return messages
    .filter(({ role }) => role === 'user')
    .map(({ content }) => (typeof content === 'string' ? content : textOfContent(content ?? [])))
    .join('\n\n');
}

/**
 * An answer with the given text in the form of the schema: the text itself, otherwise the smallest value with the text
 * in place of every text and number, otherwise the smallest value unchanged.
 */
export function answerSaying(text: string, schema: JsonSchema | null): string {
  if (schema === null) return text;
  const least = smallestValue(schema);
  const number = Number(text.replaceAll(/[,_]/g, ''));
  const candidates: Json[] = [text];
  if (text.trim() !== '' && Number.isFinite(number)) candidates.push(number);
  if (least !== undefined) candidates.push(withLeaves(least, text, Number.isFinite(number) ? number : undefined));
  const fitting = candidates.find((value) => isValid(schema, value)) ?? least;
  if (fitting === undefined) return text;
  return typeof fitting === 'string' ? fitting : JSON.stringify(fitting);
}

function withLeaves(value: Json, text: string, number: number | undefined): Json {
  if (typeof value === 'string') return text;
  if (typeof value === 'number') return number ?? value;
  if (Array.isArray(value)) return value.map((member) => withLeaves(member, text, number));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withLeaves(member, text, number)]));
}

function isValid(schema: JsonSchema, value: Json): boolean {
  try {
    return validateJsonSchema(schema, value).length === 0;
  } catch {
    return false;
  }
}
