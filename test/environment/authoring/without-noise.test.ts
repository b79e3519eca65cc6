import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import { EnvironmentServer } from 'proctor';
import { openEnvironment } from 'proctor/testing';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';

const SAFE = Number.MAX_SAFE_INTEGER;

/** A whole number, a day and an address in every library. */
const LIBRARIES = {
  'zod 4': z.object({ count: z.int(), day: z.iso.date(), mail: z.email() }),
  'zod 3': z3.object({ count: z3.number().int().safe(), day: z3.string().date(), mail: z3.string().email() }),
  ArkType: type({
    count: '-9007199254740991 <= number.integer <= 9007199254740991',
    day: 'string.date.iso',
    mail: 'string.email',
  }),
  Valibot: toStandardJsonSchema(
    v.object({
      count: v.pipe(v.number(), v.integer(), v.safeInteger()),
      day: v.pipe(v.string(), v.isoDate()),
      mail: v.pipe(v.string(), v.email()),
    }),
  ),
} as const;

type Args = (typeof LIBRARIES)['zod 4'];

describe.each(Object.entries(LIBRARIES))('arguments in %s', (_library, args) => {
  const source = () => {
    const environment = new EnvironmentServer({ name: 'noise' });
    environment.tool('t', { args: args as Args }, () => 'done');
    environment.scenario('s', { args: args as Args }, async function* () {
      yield 'Go.';
      return 1;
    });
    return environment;
  };

  it('are listed without what says nothing, for tools and scenarios', async () => {
    await using env = await openEnvironment(source);
    const [tool] = await env.agent.tools();
    const [scenario] = await env.scenarios();
    for (const schema of [tool?.input_schema, scenario?.args_schema]) {
      const { count, mail } = (schema?.properties ?? {}) as Record<string, object>;
      expect(count).toEqual({ type: 'integer' });
      expect(mail).toEqual({ type: 'string', format: 'email' });
      expect(JSON.stringify(schema)).not.toContain(String(SAFE));
    }
  });

  it('are checked as before', async () => {
    await using env = await openEnvironment(source);
    const good = { count: 1, day: '2024-02-29', mail: 'ada@example.com' };
    expect((await env.agent.call('t', good)).text).toBe('done');
    for (const bad of [{ day: 'today' }, { mail: 'ada' }, { count: 1.5 }]) {
      expect(await env.agent.call('t', { ...good, ...bad })).toMatchObject({
        is_error: true,
        text: expect.stringContaining(`${Object.keys(bad)}: `),
      });
    }
  });
});

describe('a schema keeps', () => {
  const listed = async (args: Record<string, z.ZodType>) => {
    const environment = new EnvironmentServer({ name: 'kept' });
    environment.tool('t', { args }, () => 'done');
    await using env = await openEnvironment(environment);
    return (await env.agent.tools())[0]?.input_schema.properties;
  };

  it('bounds and patterns that say something', async () => {
    expect(
      await listed({
        positive: z.int().positive(),
        small: z.int32(),
        code: z.string().regex(/^[A-Z]{3}$/),
        own: z.email({ pattern: /@example\.com$/ }),
        ours: z.uuid({ version: 'v7' }),
        id: z.nanoid(),
        local: z.iso.datetime({ local: true }),
      }),
    ).toEqual({
      positive: { type: 'integer', exclusiveMinimum: 0 },
      small: { type: 'integer', minimum: -2147483648, maximum: 2147483647 },
      code: { type: 'string', pattern: '^[A-Z]{3}$' },
      own: { type: 'string', format: 'email', pattern: '@example\\.com$' },
      ours: { type: 'string', format: 'uuid', pattern: expect.stringContaining('-7[0-9a-fA-F]{3}-') },
      id: { type: 'string', format: 'nanoid', pattern: '^[a-zA-Z0-9_-]{21}$' },
      local: { type: 'string', pattern: expect.any(String) },
    });
  });

  it('data that looks like a schema, and a property that is named like a keyword', async () => {
    const bound = z.object({ type: z.string(), maximum: z.number() }).default({ type: 'integer', maximum: SAFE });
    expect(await listed({ bound, maximum: z.int(), list: z.array(z.int()) })).toMatchObject({
      bound: { default: { type: 'integer', maximum: SAFE } },
      maximum: { type: 'integer' },
      list: { items: { type: 'integer' } },
    });
  });
});
