import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { compileSchema, describeIssues } from '../../../src/environment/authoring/schema/schema.ts';
import type { StandardSchema } from '../../../src/environment/authoring/schema/schema-types.ts';
import { readTextArguments } from '../../../src/environment/authoring/schema/text-arguments.ts';

const PLAIN = {
  type: 'object',
  properties: { by: { type: 'integer', default: 1 }, place: { type: 'object', properties: { x: { default: 5 } } } },
  additionalProperties: false,
} as const;

/** A schema of a library that follows the standard: one field `by`, a number. */
function otherLibrary(jsonSchema?: (target: string) => Record<string, unknown>): StandardSchema<{ by: number }> {
  const convert = ({ target }: { target: string }) =>
    (jsonSchema as (target: string) => Record<string, unknown>)(target);
  return {
    '~standard': {
      version: 1,
      vendor: 'other',
      validate: (value) =>
        typeof (value as { by?: unknown } | null)?.by === 'number'
          ? { value: value as { by: number } }
          : { issues: [{ message: 'not a number', path: [{ key: 'by' }] }] },
      ...(jsonSchema && { jsonSchema: { input: convert, output: convert } }),
    },
  } as StandardSchema<{ by: number }>;
}
const byNumber = {
  type: 'object',
  properties: { by: { type: 'number' } },
  required: ['by'],
  additionalProperties: false,
};

const ONE_FIELD = {
  'a zod 4 object': z.object({ by: z.number() }),
  'a raw zod shape': { by: z.number() },
  'a zod 3 object': z3.object({ by: z3.number() }),
  'a Standard Schema': otherLibrary(() => byNumber),
  'plain JSON Schema': byNumber,
} as const;

async function issuesOf(schema: Parameters<typeof compileSchema>[0], value: unknown): Promise<string> {
  const parsed = await compileSchema(schema, 'Tool "t", args').parse(value);
  return parsed.ok ? 'ok' : describeIssues(parsed.issues);
}

describe.each(Object.entries(ONE_FIELD))('args as %s', (_kind, schema) => {
  it('are advertised as JSON Schema that is closed', () => {
    expect(compileSchema(schema, 'Tool "t", args').jsonSchema).toMatchObject(byNumber);
  });

  it('are accepted where they fit', async () => {
    expect(await compileSchema(schema, 'Tool "t", args').parse({ by: 2 })).toEqual({ ok: true, value: { by: 2 } });
  });

  it('are refused by the name of each bad field', async () => {
    expect(await issuesOf(schema, {})).toMatch(/^by: /);
    const issues = await issuesOf(schema, { by: 'five', to: 1 });
    expect(issues).toContain('to: is not an argument that exists');
    expect(issues).toMatch(/by: .*, got "five"/);
  });

  it('are none when the call has none', async () => {
    expect(await issuesOf(schema, undefined)).toMatch(/^by: /);
  });

  it.each([[[]], ['by'], [null], [3]])('are refused when they are not an object but %j', async (value) => {
    expect(await issuesOf(schema, value)).not.toBe('ok');
  });
});

describe('a zod object', () => {
  it('says of a missing field that it is required', async () => {
    const schema = z.object({
      a: z.string(),
      at: z.object({ x: z.number() }),
      all: z.array(z.object({ y: z.string() })),
    });
    expect(await issuesOf(schema, { at: {}, all: [{}] })).toBe(
      'a: is required; at.x: is required; all.0.y: is required',
    );
  });

  it('that is loose or has a catchall takes more names', async () => {
    for (const schema of [z.looseObject({ by: z.number() }), z.object({ by: z.number() }).catchall(z.string())]) {
      expect(compileSchema(schema, 'Tool "t", args').jsonSchema.additionalProperties).not.toBe(false);
      expect(await compileSchema(schema, 'Tool "t", args').parse({ by: 1, more: 'x' })).toEqual({
        ok: true,
        value: { by: 1, more: 'x' },
      });
    }
  });

  it('that is strict names the extra field once', async () => {
    expect(await issuesOf(z.strictObject({ by: z.number() }), { by: 1, to: 2 })).toBe(
      'to: is not an argument that exists',
    );
  });

  it('refuses extra names in the objects inside it', async () => {
    const schema = z.object({ at: z.object({ x: z.number() }), all: z.array(z.object({ y: z.number() })) });
    expect(await issuesOf(schema, { at: { x: 1, z: 2 }, all: [{ y: 1 }, { y: 1, w: 2 }] })).toBe(
      'at.z: is not an argument that exists; all.1.w: is not an argument that exists',
    );
  });

  it('takes alternatives, records and intersections for what they allow', async () => {
    const x = z.object({ x: z.number() });
    const schema = z.object({
      either: z.union([x, z.object({ y: z.number() })]),
      by_name: z.record(z.string(), z.number()),
      both: z.intersection(x, z.object({ y: z.number() })),
      any: z.union([x, z.unknown()]),
    });
    const args = { either: { y: 1 }, by_name: { any: 1 }, both: { x: 1, y: 2 }, any: { z: 1 } };
    expect(await issuesOf(schema, args)).toBe('ok');
  });

  it('refuses extra names in alternatives and records of objects, which zod would drop', async () => {
    const x = z.object({ x: z.number() });
    const kinds = [z.object({ kind: z.literal('a'), x: z.number() }), z.object({ kind: z.literal('b') })] as const;
    const schema = z.object({
      maybe: x.nullable(),
      mixed: z.union([z.string(), z.array(x)]),
      one: z.discriminatedUnion('kind', kinds),
      by_name: z.record(z.string(), x),
    });
    const x2 = { x: 1, z: 2 };
    expect(await issuesOf(schema, { maybe: x2, mixed: [x2], one: { kind: 'a', ...x2 }, by_name: { any: x2 } })).toBe(
      ['maybe.z', 'mixed.0.z', 'one.z', 'by_name.any.z']
        .map((path) => `${path}: is not an argument that exists`)
        .join('; '),
    );
    expect(await issuesOf(schema, { maybe: null, mixed: 'z', one: { kind: 'b' }, by_name: {} })).toBe('ok');
  });

  it('takes names that objects inherit for unknown ones', async () => {
    const args = JSON.parse('{"by": 1, "__proto__": 1, "constructor": 2}');
    expect(await issuesOf(z.object({ by: z.number() }), args)).toBe(
      '__proto__: is not an argument that exists; constructor: is not an argument that exists',
    );
  });

  it('reads coerced, transformed and asynchronously refined fields', async () => {
    const schema = z.object({
      n: z.coerce.number(),
      list: z.string().transform((text) => text.split(',')),
      even: z.number().refine(async (value) => value % 2 === 0, 'has to be even'),
    });
    const compiled = compileSchema(schema, 'Tool "t", args');
    expect(await compiled.parse({ n: '5', list: 'a,b', even: 2 })).toEqual({
      ok: true,
      value: { n: 5, list: ['a', 'b'], even: 2 },
    });
    expect(await issuesOf(schema, { n: 1, list: '', even: 3 })).toBe('even: has to be even, got 3');
  });

  it('is advertised as it is checked: closed, in alternatives too', () => {
    const schema = z.object({ maybe: z.object({ x: z.number() }).nullable() });
    expect(compileSchema(schema, 'args').jsonSchema.properties).toMatchObject({
      maybe: { anyOf: [{ additionalProperties: false }, { type: 'null' }] },
    });
  });

  it('is advertised by its input, and `returns` by its output', () => {
    const schema = z.object({ by: z.number().default(1) });
    expect(compileSchema(schema, 'args').jsonSchema.required).toBeUndefined();
    expect(compileSchema(schema, 'returns', { side: 'output' }).jsonSchema.required).toEqual(['by']);
  });

  it('names no dialect, which clients of older revisions would not know', () => {
    expect(compileSchema(z.object({}), 'args').jsonSchema).not.toHaveProperty('$schema');
  });
});

describe('a Standard Schema', () => {
  it('may answer with a promise of its own kind', async () => {
    const schema = otherLibrary(() => byNumber);
    const { validate } = schema['~standard'];
    const OtherPromise: PromiseConstructor = runInNewContext('Promise');
    const later = (value: unknown) => new OtherPromise((resolve) => resolve(validate(value)));
    const lazy = { '~standard': { ...schema['~standard'], validate: later } } as unknown as typeof schema;
    expect(await compileSchema(lazy, 'args').parse({ by: 1 })).toEqual({ ok: true, value: { by: 1 } });
    expect(await issuesOf(lazy, { by: 'one' })).toContain('by: not a number');
  });
});

describe('plain JSON Schema', () => {
  it('is taken as written, with its defaults filled in and the value left as it was', async () => {
    const value = { place: {} };
    expect(await compileSchema(PLAIN, 'args').parse(value)).toEqual({ ok: true, value: { by: 1, place: { x: 5 } } });
    expect(value).toEqual({ place: {} });
    expect(compileSchema(PLAIN, 'args').jsonSchema).toEqual(PLAIN);
  });

  it('without additionalProperties: false takes more names', async () => {
    expect(await issuesOf({ type: 'object', properties: { by: { type: 'number' } } }, { more: 1 })).toBe('ok');
  });

  it('that cannot be compiled is refused at registration', () => {
    const broken = { type: 'object', properties: { by: { $ref: '#/$defs/missing' } } };
    expect(() => compileSchema(broken, 'Tool "t", args')).toThrow(
      /^Tool "t", args: the JSON Schema cannot be compiled/,
    );
  });
});

describe('what cannot be args is refused at registration with the tool and the field', () => {
  it.each([
    ['a date', z.object({ at: z.object({ day: z.date() }) }), 'Tool "t", args, field "at.day": Date cannot'],
    ['a date in a list', z.object({ days: z.array(z.date()) }), 'field "days.items": Date cannot'],
    ['a coerced date', z.object({ day: z.coerce.date() }), 'field "day": Date cannot'],
    ['a bigint', { n: z.bigint() }, 'field "n": BigInt cannot'],
    ['a zod 3 date', z3.object({ at: z3.object({ day: z3.date() }) }), 'field "at.day": ZodDate cannot'],
    ['a zod 3 map', z3.object({ m: z3.map(z3.string(), z3.string()) }), 'field "m": ZodMap cannot'],
    ['a number', z.number(), 'has to be that of an object'],
    ['an alternative at the root', z.union([z.object({}), z.object({ a: z.string() })]), 'has to be that of an object'],
    ['JSON Schema of an array', { type: 'array' }, 'has to be that of an object'],
    ['a schema without JSON Schema', otherLibrary(), 'the other schema does not expose JSON Schema'],
    ['a shape of zod 3', { by: z3.number() } as never, 'a raw shape takes zod 4 schemas alone'],
    ['text', 'by' as never, 'got "by"'],
    ['null', null as never, 'got null'],
    ['a list', [] as never, 'got []'],
    ['an object that is no schema', { by: 1 } as never, 'got {"by":1}'],
  ])('%s', (_what, schema, message) => {
    expect(() => compileSchema(schema, 'Tool "t", args')).toThrow(message);
    expect(() => compileSchema(schema, 'Tool "t", args')).toThrow(/^Tool "t", args/);
  });

  it('a schema whose library cannot write it as JSON Schema', () => {
    const schema = otherLibrary(() => {
      throw new Error('no such type');
    });
    expect(() => compileSchema(schema, 'Tool "t", args')).toThrow(
      'other cannot write the schema as JSON Schema: no such type',
    );
  });
});

describe('text arguments of a prompt', () => {
  it('are read as what the schema takes, and stay text where it takes text or they are not JSON', () => {
    const schema = compileSchema(
      z.object({
        n: z.number(),
        yes: z.boolean(),
        word: z.string(),
        list: z.array(z.number()),
        maybe: z.string().nullable(),
        kind: z.enum(['1', '2']),
        bad: z.number(),
      }),
      'args',
    );
    const text = { n: '5', yes: 'true', word: '7', list: '[1]', maybe: 'null', kind: '1', bad: 'x', extra: '1' };
    expect(readTextArguments(schema.jsonSchema, text)).toEqual({
      n: 5,
      yes: true,
      word: '7',
      list: [1],
      maybe: 'null',
      kind: '1',
      bad: 'x',
      extra: '1',
    });
  });
});
