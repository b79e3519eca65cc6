import { ApiError } from '../../contract/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../contract/json.ts';

/** @throws ApiError invalid_parameter */
export function readBodyObject(body: unknown): JsonObject {
  if (!isJsonObject(body)) throw new ApiError('invalid_parameter', `The body has to be a JSON object${gotWhat(body)}.`);
  return body;
}

/** A required list. @throws ApiError missing_required_parameter or invalid_parameter */
export function requiredList(body: JsonObject, field: string): readonly Json[] {
  const value = body[field];
  if (value === undefined || value === null) {
    throw new ApiError('missing_required_parameter', `The field \`${field}\` is missing.`, { param: field });
  }
  return optionalList(body, field);
}

/** A list; empty if it is absent or null. @throws ApiError invalid_parameter */
export function optionalList(body: JsonObject, field: string): readonly Json[] {
  const value = body[field] ?? [];
  if (!Array.isArray(value)) throw invalidField(field, 'a list', value);
  return value;
}

/** An object in a list. @throws ApiError invalid_parameter */
export function requiredObject(value: Json | undefined, param: string): JsonObject {
  if (!isJsonObject(value)) throw invalidField(param, 'an object', value);
  return value;
}

/** @throws ApiError invalid_parameter */
export function requiredText(value: Json | undefined, param: string): string {
  if (typeof value !== 'string') throw invalidField(param, 'a text', value);
  return value;
}

/** A text; undefined if it is absent or null. @throws ApiError invalid_parameter */
export function optionalText(body: JsonObject, field: string): string | undefined {
  const value = body[field] ?? undefined;
  return value === undefined ? undefined : requiredText(value, field);
}

/** @throws ApiError invalid_parameter */
export function optionalFlag(body: JsonObject, field: string): boolean {
  const value = body[field] ?? false;
  if (typeof value !== 'boolean') throw invalidField(field, 'true or false', value);
  return value;
}

export function invalidField(param: string, expected: string, value: Json | undefined): ApiError {
  return new ApiError('invalid_parameter', `\`${param}\` has to be ${expected}${gotWhat(value)}.`, { param });
}

/** The objects of a list. Other items are left out. */
export function objectsOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** The text; "" for any other value. */
export function textOrEmpty(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** Fields that are neither absent nor null. */
export function presentFields(fields: Readonly<Record<string, Json | undefined>>): JsonObject {
  const present: JsonObject = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && value !== null) present[name] = value;
  }
  return present;
}

const MAX_SHOWN = 80;

function gotWhat(value: unknown): string {
  if (value === undefined) return '';
  const text = JSON.stringify(value) ?? String(value);
  return `, not ${text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text}`;
}
