import type { Json, JsonObject, JsonSchema } from '../../../contract/json.ts';
import type { SeededRandom } from './seeded-random.ts';

/** Depth from which only required values are made, so that a recursive schema comes to an end. */
const MAX_DEPTH = 5;
/** Ranges up to this width are used in full. Of wider ranges, `WIDE_SPAN` values are used. */
const NARROW_RANGE = 100;
const WIDE_SPAN = 10;

/** Decisions of a draw: random ones, or always the smallest. */
export interface Choices extends SeededRandom {
  /** Least characters of a text that may be empty. */
  readonly leastLength: 0 | 1;
}

/**
 * Draws one value that fits a schema, with the given choices. Rules that it does not understand (a `pattern`, a `not`)
 * are for the caller to check.
 */
export class SchemaDraw {
  readonly #root: JsonSchema;
  readonly #random: Choices;

  constructor(root: JsonSchema, random: Choices) {
    this.#root = root;
    this.#random = random;
  }

  value(given: unknown, depth: number): Json {
    const schema = this.#resolve(given);
    if ('const' in schema) return schema.const as Json;
    if (Array.isArray(schema.enum) && schema.enum.length > 0) return this.#random.pick(schema.enum as Json[]);
    const known = [...('default' in schema ? [schema.default] : []), ...listOf(schema.examples)];
    if (known.length > 0 && this.#random.chance(0.3)) return this.#random.pick(known) as Json;
    switch (this.#type(schema)) {
      case 'object':
        return this.#object(schema, depth);
      case 'array':
        return this.#array(schema, depth);
      case 'string':
        return this.#string(schema);
      case 'integer':
        return this.#number(schema, true);
      case 'number':
        return this.#number(schema, false);
      case 'boolean':
        return this.#random.chance(0.5);
      default:
        return null;
    }
  }

  /** The schema with its reference followed, `allOf` joined, and one branch of `anyOf` and `oneOf` taken. */
  #resolve(given: unknown, hops = 0): JsonSchema {
    if (!isSchema(given) || hops > 20) return {};
    const { $ref, allOf, anyOf, oneOf, ...own } = given;
    const parts = [...listOf(allOf)];
    if (typeof $ref === 'string') parts.push(this.#lookUp($ref));
    for (const ways of [listOf(anyOf), listOf(oneOf)]) if (ways.length > 0) parts.push(this.#random.pick(ways));
    return parts.reduce<JsonSchema>((joined, part) => join(joined, this.#resolve(part, hops + 1)), own);
  }

  /** Follows a reference within the document, such as `#/$defs/address`. */
  #lookUp(reference: string): unknown {
    if (!reference.startsWith('#')) return {};
    const steps = reference.split('/').slice(1);
    return steps.reduce<unknown>((at, step) => {
      const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
      return isSchema(at) || Array.isArray(at) ? Reflect.get(at, key) : undefined;
    }, this.#root);
  }

  #type(schema: JsonSchema): string {
    if (Array.isArray(schema.type)) return String(this.#random.pick(schema.type));
    if (typeof schema.type === 'string') return schema.type;
    if ('properties' in schema) return 'object';
    if ('items' in schema || 'prefixItems' in schema) return 'array';
    if ('minimum' in schema || 'maximum' in schema || 'multipleOf' in schema) return 'number';
    return 'string';
  }

  #object(schema: JsonSchema, depth: number): JsonObject {
    const required = new Set(listOf(schema.required));
    const made: JsonObject = {};
    for (const [name, property] of Object.entries(isSchema(schema.properties) ? schema.properties : {})) {
      if (required.has(name) || (depth < MAX_DEPTH && this.#random.chance(0.5))) {
        made[name] = this.value(property, depth + 1);
      }
    }
    return made;
  }

  #array(schema: JsonSchema, depth: number): Json[] {
    const first = listOf(schema.prefixItems);
    const least = Math.max(numberOr(schema.minItems, 0), first.length);
    const most = Math.min(numberOr(schema.maxItems, least + 3), least + 3);
    const length = depth >= MAX_DEPTH ? least : this.#random.integer(least, Math.max(least, most));
    const items = Array.from({ length }, (_, index) => this.value(first[index] ?? schema.items, depth + 1));
    if (schema.uniqueItems !== true) return items;
    return items.filter((item, index) => items.findIndex((other) => sameJson(other, item)) === index);
  }

  #string(schema: JsonSchema): string {
    const made = typeof schema.format === 'string' ? this.#formatted(schema.format) : undefined;
    if (made !== undefined) return made;
    const least = numberOr(schema.minLength, 0);
    const most = Math.max(least, Math.min(numberOr(schema.maxLength, least + 12), least + 12));
    const length = this.#random.integer(Math.max(least, Math.min(this.#random.leastLength, most)), most);
    return Array.from({ length }, () => this.#random.pick([...'abcdefghijklmnopqrstuvwxyz0123456789'])).join('');
  }

  #formatted(format: string): string | undefined {
    const hex = (digits: number) =>
      Array.from({ length: digits }, () => this.#random.integer(0, 15).toString(16)).join('');
    const time = new Date(this.#random.integer(0, 4_102_444_800) * 1_000).toISOString();
    switch (format) {
      case 'date-time':
        return time;
      case 'date':
        return time.slice(0, 10);
      case 'time':
        return time.slice(11);
      case 'email':
        return `${hex(6)}@example.com`;
      case 'uri':
      case 'url':
        return `https://example.com/${hex(6)}`;
      case 'uuid':
        return `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`;
      default:
        return undefined;
    }
  }

  /** Draws a number in whole steps; near zero if the range is wide. */
  #number(schema: JsonSchema, isInteger: boolean): number {
    const least = Math.max(numberOr(schema.minimum, -Infinity), numberOr(schema.exclusiveMinimum, -Infinity));
    const most = Math.min(numberOr(schema.maximum, Infinity), numberOr(schema.exclusiveMaximum, Infinity));
    const near = Math.min(Math.max(0, least), most);
    const isNarrow = most - least <= NARROW_RANGE;
    const from = isNarrow ? least : Math.max(least, near === most ? most - WIDE_SPAN : near);
    const to = isNarrow ? most : Math.min(most, near + WIDE_SPAN);
    const step = numberOr(schema.multipleOf, isInteger ? 1 : 0.01);
    const steps = { first: Math.ceil(from / step), last: Math.floor(to / step) };
    if (steps.first * step <= numberOr(schema.exclusiveMinimum, -Infinity)) steps.first += 1;
    if (steps.last * step >= numberOr(schema.exclusiveMaximum, Infinity)) steps.last -= 1;
    if (steps.first > steps.last) return from + this.#random.next() * (to - from);
    return Number((this.#random.integer(steps.first, steps.last) * step).toPrecision(15));
  }
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Joins two schemas: their properties and required names are combined, and other members of the second take precedence.
 */
function join(first: JsonSchema, second: JsonSchema): JsonSchema {
  const joined: JsonSchema = { ...first, ...second };
  if (isSchema(first.properties) && isSchema(second.properties)) {
    joined.properties = { ...first.properties, ...second.properties };
  }
  const required = [...listOf(first.required), ...listOf(second.required)];
  if (required.length > 0) joined.required = required;
  return joined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}

function sameJson(first: Json, second: Json): boolean {
  return JSON.stringify(first) === JSON.stringify(second);
}
