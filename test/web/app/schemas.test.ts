import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JsonSchema } from '../../../src/contract/json.ts';
import type { ScenarioEntry } from '../../../src/contract/scenario.ts';
import { readFields, toFields } from '../../../src/web/app/environments/form-values.ts';
import { toSchemaRows } from '../../../src/web/app/environments/schema-rows.ts';
import { toSince } from '../../../src/web/app/usage/usage-days.ts';

const rowsOf = (schema: JsonSchema) => toSchemaRows(schema).rows;
const shown = (schema: JsonSchema) =>
  rowsOf(schema).map(({ path, name, type, isRequired }) => `${path}${name}${isRequired ? '!' : ''}: ${type}`);

describe('a schema as a table', () => {
  it('has a row for each field, nested ones below those that they are in', () => {
    const order = z.object({
      id: z.string().min(1).describe('Its number.'),
      size: z.enum(['S', 'M']).default('M'),
      count: z.int().min(1).max(9),
      address: z.object({ street: z.string(), codes: z.array(z.number()).optional() }),
      items: z.array(z.object({ sku: z.string().regex(/^[A-Z]+$/), note: z.string().nullable() })),
    });
    const schema = z.toJSONSchema(order, { io: 'input' }) as JsonSchema;
    expect(shown(schema)).toEqual([
      'id!: string',
      'size: string',
      'count!: integer',
      'address!: object',
      'address.street!: string',
      'address.codes: array of number',
      'items!: array of object',
      'items[].sku!: string',
      'items[].note!: string or null',
    ]);
    const [id, size, count] = rowsOf(schema);
    expect(id).toMatchObject({ description: 'Its number.', limits: ['not empty'], initial: undefined });
    expect(size).toMatchObject({ choices: ['"S"', '"M"'], initial: '"M"' });
    expect(count?.limits).toEqual(['1 to 9']);
  });

  it('follows references within it, joins what has all of several, and names the options of one of several', () => {
    const schema = {
      $defs: { 'a/b': { type: 'object', properties: { x: { type: 'number' } } }, kind: { const: 'move' } },
      allOf: [{ properties: { first: { $ref: '#/$defs/a~1b', description: 'The first.' } }, required: ['first'] }],
      properties: {
        step: { oneOf: [{ properties: { kind: { $ref: '#/$defs/kind' } } }, { type: 'string' }] },
        extra: { type: 'object', additionalProperties: { type: 'boolean' } },
        elsewhere: { $ref: 'https://evil.example/schema.json' },
      },
    };
    expect(shown(schema)).toEqual([
      'first!: object',
      'first.x: number',
      'step: object or string',
      'step.(option 1) kind: string',
      'extra: object',
      'extra.(any other name): boolean',
      'elsewhere: any',
    ]);
    expect(rowsOf(schema)[0]?.description).toBe('The first.');
  });

  it('is cut where it refers to itself without end, or is larger than anybody reads', () => {
    const loop = { type: 'object', properties: { next: { $ref: '#' } } };
    expect(toSchemaRows(loop).isCut).toBe(true);
    expect(toSchemaRows(loop).rows.length).toBeLessThan(10);
    const wide = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`field_${index}`, {}]));
    expect(toSchemaRows({ properties: wide })).toMatchObject({ isCut: true, rows: { length: 200 } });
    expect(toSchemaRows({ $ref: '#' })).toEqual({ rows: [], isCut: false });
  });

  it('ends where choices or items are the schema itself again, and shows the fields beside what is too deep', () => {
    const self = { $ref: '#/$defs/self' };
    const ofSelf = (definition: JsonSchema) => rowsOf({ properties: { a: self, z: {} }, $defs: { self: definition } });
    const definitions: readonly JsonSchema[] = [
      { anyOf: [self, { type: 'null' }] },
      { anyOf: [self, self, self, self, self, self, self, self, self, self] },
      { type: 'array', items: self },
    ];
    for (const definition of definitions) {
      expect(toSchemaRows({ ...definition, $defs: { self: definition } })).toMatchObject({ rows: [], isCut: true });
      expect(ofSelf(definition)[0]).toMatchObject({ path: '', name: 'a' });
    }
    expect(ofSelf({ properties: { next: self } }).at(-1)).toMatchObject({ path: '', name: 'z' });
  });

  it('has fields that are named as what every object has', () => {
    const named = JSON.parse('{"properties": {"__proto__": {"type": "string"}, "constructor": {"type": "null"}}}');
    const rows = [
      ['__proto__', 'string'],
      ['constructor', 'null'],
    ];
    expect(rowsOf(named).map(({ name, type }) => [name, type])).toEqual(rows);
    expect(rowsOf({ allOf: [named] }).map(({ name, type }) => [name, type])).toEqual(rows);
  });

  it('reads anything that calls itself a schema', () => {
    for (const odd of [
      { properties: [], required: 'x', type: 7 },
      { properties: { a: true, b: null, __proto__: 1, c: { type: ['string', 'null'], enum: 'x', anyOf: [] } } },
      { allOf: [null, 1], anyOf: [1, null], items: 'x', minimum: 'low' },
    ]) {
      expect(() => toSchemaRows(odd as JsonSchema)).not.toThrow();
    }
  });
});

function scenarioOf(args: z.ZodObject): ScenarioEntry {
  const schema = z.toJSONSchema(args, { io: 'input' }) as JsonSchema & { properties: Record<string, JsonSchema> };
  const required = (schema.required ?? []) as string[];
  return {
    name: 'shop:order',
    short_name: 'order',
    description: '',
    required_args: required,
    arguments: Object.entries(schema.properties).map(([name, { type, description, default: initial }]) => ({
      name,
      type: String(type ?? 'any'),
      required: required.includes(name),
      description: typeof description === 'string' ? description : null,
      default: (initial ?? null) as null,
    })),
    args_schema: schema,
  };
}

const ORDER = scenarioOf(
  z.object({
    name: z.string(),
    code: z.string().min(2),
    note: z.string().max(2_000).optional(),
    gift: z.string().nullable(),
    count: z.int(),
    price: z.number().optional(),
    isUrgent: z.boolean(),
    size: z.enum(['S', 'M']).default('M'),
    level: z.union([z.literal(1), z.literal(2)]).optional(),
    tags: z.array(z.string()).default(['new']),
    address: z.object({ city: z.string() }).optional(),
    any: z.unknown().optional(),
  }),
);

describe('a form of a schema', () => {
  const fields = toFields(ORDER);

  it('asks for each argument by what it is, with its default', () => {
    expect(fields.map(({ name, kind, initial }) => [name, kind, initial])).toEqual([
      ['name', 'line', ''],
      ['code', 'line', ''],
      ['note', 'text', ''],
      ['gift', 'line', ''],
      ['count', 'number', ''],
      ['price', 'number', ''],
      ['isUrgent', 'choice', ''],
      ['size', 'choice', 'M'],
      ['level', 'choice', ''],
      ['tags', 'json', '[\n  "new"\n]'],
      ['address', 'json', ''],
      ['any', 'json', ''],
    ]);
  });

  it('sends what was written as JSON of the right kind, and leaves out what is empty', () => {
    const texts = {
      name: 'Ada',
      code: 'ab',
      count: ' 3 ',
      isUrgent: 'false',
      address: '{"city":"Bremen"}',
      level: '2',
    };
    expect(readFields(fields, texts)).toEqual({
      args: {
        name: 'Ada',
        code: 'ab',
        gift: null,
        count: 3,
        isUrgent: false,
        size: 'M',
        level: 2,
        tags: ['new'],
        address: { city: 'Bremen' },
      },
      problems: {},
    });
  });

  it('says of each field what is wrong with it, and sends nothing of it', () => {
    const texts = { count: '1.5', price: 'true', tags: '{}', address: '[1]', any: '{"a"', isUrgent: 'perhaps' };
    const { args, problems } = readFields(fields, texts);
    expect(problems).toMatchObject({
      code: 'This is required.',
      count: 'This has to be a whole number.',
      price: 'This has to be a number.',
      isUrgent: 'This is none of the choices.',
      tags: 'This has to be a list: […]',
      address: 'This has to be an object: {…}',
      any: expect.stringMatching(/^This has to be JSON: /),
    });
    expect(args).toEqual({ name: '', gift: null, size: 'M' });
  });

  it('takes arguments that are named as what every object has', () => {
    const named = scenarioOf(z.object({ constructor: z.string(), toString: z.array(z.string()).optional() }));
    const argument = { name: '__proto__', type: 'string', required: true, description: '', default: null };
    const all = toFields({ ...named, arguments: [...named.arguments, argument] });
    const { args, problems } = readFields(all, JSON.parse('{"__proto__": "7"}'));
    expect([JSON.stringify(args), problems]).toEqual(['{"constructor":"","__proto__":7}', {}]);
  });
});

it('usage of some days begins with the first of them, whole', () => {
  expect(toSince('7', Date.UTC(2026, 2, 18, 14, 30))).toBe('2026-03-12T00:00:00.000Z');
  expect(toSince('all', Date.now())).toBeUndefined();
});
