import { isJsonObject, type Json, type JsonObject } from '../../contract/json.ts';

/** Replies of providers are read field by field: what is missing, or of another type, is not there. */
export function textIn(object: JsonObject, name: string): string | undefined {
  const value = object[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function numberIn(object: JsonObject, name: string): number | undefined {
  const value = object[name];
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

export function objectIn(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isJsonObject(value) ? value : {};
}

export function objectsIn(object: JsonObject, name: string): readonly JsonObject[] {
  const value: Json | undefined = object[name];
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** The finite numbers among its fields: metrics. */
export function numbersIn(object: JsonObject): Record<string, number> {
  const numbers = Object.entries(object).filter(
    (field): field is [string, number] => typeof field[1] === 'number' && Number.isFinite(field[1]),
  );
  return Object.fromEntries(numbers);
}

/** Characters of a provider's text that an event holds. */
const MAX_TEXT = 4_000;

export function shortText(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
