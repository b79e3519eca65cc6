import { z } from 'zod';

/** Any JSON value. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** A JSON object. */
export type JsonObject = { [key: string]: Json };

/** A JSON Schema, as it goes over the wire. Draft 2020-12 unless its `$schema` says otherwise. */
export type JsonSchema = { [key: string]: unknown };

/** One check for the whole object: a schema for every value inside takes seconds for a body of megabytes. */
export const jsonObjectSchema: z.ZodType<JsonObject> = z
  .custom<JsonObject>((value) => isJsonObject(value) && isJson(value), 'a JSON object')
  .meta({ type: 'object', additionalProperties: true });

/**
 * A JSON object of a request. Its faults are reported with their path: a number that JSON cannot hold, and the name
 * `__proto__`, which many libraries drop silently. The message of an issue continues "has to be ...".
 */
export const givenObjectSchema: z.ZodType<JsonObject, JsonObject> = z
  .custom<JsonObject>(isJsonObject, 'an object')
  .superRefine(refuseFault)
  .meta({ type: 'object', additionalProperties: true });

/** The arguments of a scenario. `checkScenarioArgs` checks them against the scenario's schema. */
export const scenarioArgsSchema: z.ZodType<JsonObject, JsonObject> = z
  .custom<JsonObject>(isJsonObject, 'an object')
  .meta({ type: 'object', additionalProperties: true, description: 'At most 1 MiB as JSON' });

/** Any JSON value of a request. Its faults are reported as in `givenObjectSchema`. */
export const givenJsonSchema: z.ZodType<Json, Json> = z
  .custom<Json>((value) => value !== undefined)
  .superRefine(refuseFault);

export const jsonSchemaSchema: z.ZodType<JsonSchema> = z.record(z.string(), z.unknown());

/** True for a JSON object: not null and not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The JSON object in a text; undefined for any other text. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** For `superRefine`: adds an issue for the first fault of a value. */
export function refuseFault(value: unknown, context: z.RefinementCtx): void {
  const fault = faultIn(value);
  if (fault !== undefined) context.addIssue({ code: 'custom', path: [...fault.path], message: fault.message });
}

/** `message` continues the words "has to be". */
interface Fault {
  readonly path: readonly (string | number)[];
  readonly message: string;
  /** The value, if it is a number. */
  readonly got?: number;
}

/** The first part of a request's value that JSON or a library would drop or change. */
export function faultIn(value: unknown): Fault | undefined {
  if (typeof value === 'number')
    return Number.isFinite(value) ? undefined : { path: [], message: 'a number that is finite', got: value };
  if (typeof value !== 'object' || value === null) return undefined;
  if (Object.hasOwn(value, '__proto__')) return { path: ['__proto__'], message: FORBIDDEN_NAME };
  for (const [key, member] of Object.entries(value)) {
    const fault = faultIn(member);
    if (fault !== undefined) return { ...fault, path: [Array.isArray(value) ? Number(key) : key, ...fault.path] };
  }
  return undefined;
}

/** Continues the words "has to be". */
export const FORBIDDEN_NAME = 'called otherwise, since no member of an object may have this name';

function isJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean';
  return value === null || Object.values(value).every(isJson);
}
