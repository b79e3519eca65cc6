import { z } from 'zod';

/** Any JSON value. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** A JSON object. */
export type JsonObject = { [key: string]: Json };

/** A JSON Schema, as it goes over the wire. Draft 2020-12 unless its `$schema` says otherwise. */
export type JsonSchema = { [key: string]: unknown };

export const jsonObjectSchema: z.ZodType<JsonObject> = z.record(z.string(), z.json()) as z.ZodType<JsonObject>;

export const jsonSchemaSchema: z.ZodType<JsonSchema> = z.record(z.string(), z.unknown());

/** True for what JSON calls an object: neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
