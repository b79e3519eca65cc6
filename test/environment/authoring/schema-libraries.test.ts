import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import { EnvironmentServer } from 'proctor';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { connectInMemory, textOf } from '../server/clients.ts';

const JSON_SCHEMA = {
  type: 'object',
  properties: { by: { type: 'integer' }, label: { type: 'string', default: 'x' } },
  required: ['by'],
  additionalProperties: false,
} as const;

/** The same arguments in every library: `by`, a whole number, and `label`, which is "x" by default. */
const LIBRARIES = {
  'zod 4': z.object({ by: z.int(), label: z.string().default('x') }),
  'a raw shape of zod 4': { by: z.int(), label: z.string().default('x') },
  'zod 3': z3.object({ by: z3.number().int(), label: z3.string().default('x') }),
  ArkType: type({ by: 'number.integer', label: 'string = "x"', '+': 'reject' }),
  Valibot: toStandardJsonSchema(
    v.strictObject({ by: v.pipe(v.number(), v.integer()), label: v.optional(v.string(), 'x') }),
  ),
  'plain JSON Schema': JSON_SCHEMA,
} as const;

describe.each(Object.entries(LIBRARIES))('arguments in %s', (_library, args) => {
  const env = () =>
    new EnvironmentServer({ name: 'e' }).tool('t', { args: args as typeof JSON_SCHEMA }, (given) => given);

  it('are listed as JSON Schema', async () => {
    const client = await connectInMemory(env);
    const { inputSchema } = (await client.listTools()).tools[0] ?? {};
    expect(inputSchema).toMatchObject({
      type: 'object',
      properties: { by: { type: 'integer' }, label: { type: 'string' } },
      required: ['by'],
      additionalProperties: false,
    });
  });

  it('are read, with their defaults', async () => {
    const client = await connectInMemory(env);
    const result = await client.callTool({ name: 't', arguments: { by: 2 } });
    expect(result.structuredContent).toEqual({ by: 2, label: 'x' });
  });

  it('are refused by the name of each bad field', async () => {
    const client = await connectInMemory(env);
    const result = await client.callTool({ name: 't', arguments: { by: 'two', label: 5, more: 1 } });
    expect(result.isError).toBe(true);
    for (const field of ['by', 'label', 'more']) expect(textOf(result)).toContain(`${field}: `);
    expect(textOf(result)).toContain('It takes: by, label.');
    expect(textOf(await client.callTool({ name: 't' }))).toContain('by: ');
  });
});

describe('a schema that cannot be described', () => {
  it.each([
    ['a date of ArkType', type({ at: 'Date' }), 'field "at": arktype cannot write the schema as JSON Schema (date)'],
    ['a bigint of ArkType', type({ n: { 'deep?': 'bigint' } }), 'field "n.deep"'],
    ['Valibot without its conversion', v.object({ by: v.number() }), 'the valibot schema does not expose JSON Schema'],
    ['a date of Valibot', toStandardJsonSchema(v.object({ at: v.date() })), 'valibot cannot write the schema'],
    ['a shape of Valibot', { by: v.number() }, 'a raw shape takes zod 4 schemas alone'],
    ['a date of zod 4', z.object({ at: z.date() }), 'field "at"'],
    ['a date of zod 3', z3.object({ at: z3.date() }), 'field "at"'],
    ['an ArkType that is no object', type('string'), 'has to be that of an object'],
  ])('as %s is refused at registration with the name of its tool', (_what, args, message) => {
    const env = new EnvironmentServer({ name: 'e' });
    const register = () => env.tool('pick', { args: args as never }, () => '');
    expect(register).toThrow(/^Tool "pick", args/);
    expect(register).toThrow(message);
  });
});
