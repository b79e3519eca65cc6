import { isJsonObject, type Json, type JsonObject } from '../../contract/json.ts';

/** A text field of a provider's reply. Missing fields, and those of another type, count as absent. */
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

/** The object's fields that are finite numbers, such as metrics. */
export function numbersIn(object: JsonObject): Record<string, number> {
  const numbers = Object.entries(object).filter(
    (field): field is [string, number] => typeof field[1] === 'number' && Number.isFinite(field[1]),
  );
  return Object.fromEntries(numbers);
}

/** Largest number of characters of a provider's text in an event. */
const MAX_TEXT = 4_000;

export function shortText(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
