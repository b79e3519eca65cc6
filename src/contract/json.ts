import { z } from 'zod';

/** Any JSON value. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** A JSON object. */
export type JsonObject = { [key: string]: Json };

/** A JSON Schema, as it goes over the wire. Draft 2020-12 unless its `$schema` says otherwise. */
export type JsonSchema = { [key: string]: unknown };

/** One check for the whole of it: a schema of every value inside takes seconds for a body of megabytes. */
export const jsonObjectSchema: z.ZodType<JsonObject> = z
  .custom<JsonObject>((value) => isJsonObject(value) && isJson(value), 'Invalid input: expected a JSON object')
  .meta({ type: 'object', additionalProperties: true });

export const jsonSchemaSchema: z.ZodType<JsonSchema> = z.record(z.string(), z.unknown());

/** True for what JSON calls an object: neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean';
  return value === null || Object.values(value).every(isJson);
}
