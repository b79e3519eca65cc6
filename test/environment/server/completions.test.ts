import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AS_AGENT, connectInMemory, errorOf, HARNESS } from './clients.ts';

const createPainter = () => {
  const env = new EnvironmentServer({ name: 'painter' });
  const colours = z.enum(['red', 'rose', 'blue']);
  env.prompt('paint', { args: { colour: colours, what: z.string(), gloss: z.boolean().optional() } }, () => 'Paint.');
  env.prompt(
    'mix',
    {
      args: { first: z.string(), second: z.string(), plain: z.string().optional() },
      complete: {
        first: ['Red', 'rose', 'blue'],
        second: (typed, context) => [`${context.arguments.first}-${typed}`, context.session.protocol],
      },
    },
    () => 'Mix.',
  );
  env.prompt('many', { args: { n: z.string() }, complete: { n: () => Array.from({ length: 250 }, String) } }, () => '');
  env.prompt(
    'broken',
    { args: { n: z.string() }, complete: { n: () => Promise.reject(new Error('secret cause')) } },
    () => '',
  );
  env.prompt('grading', { audience: 'harness', args: { n: z.string() }, complete: { n: ['secret'] } }, () => '');
  env.resource('paint://{shelf}/{tin}', { complete: { tin: ['1', '12', '2'] } }, () => '');
  env.resource('key://{id}', { audience: 'harness', complete: { id: ['secret'] } }, () => '');
  env.resource('paint://today', {}, () => '');
  env.scenario(
    'paint_wall',
    { args: { colour: colours, coats: z.union([z.literal(1), z.literal(2)]).default(1) } },
    async function* () {
      yield 'Paint the wall.';
      return 1;
    },
  );
  return env;
};

describe.each(['legacy', 'modern'] as const)('completion on the %s era', (mode) => {
  const complete = async (
    ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string },
    name: string,
    value: string,
    options: { given?: Record<string, string>; meta?: object; asAgent?: boolean } = {},
  ) => {
    const client = await connectInMemory(createPainter, { mode, meta: { ...options.meta } });
    const context = options.given === undefined ? {} : { context: { arguments: options.given } };
    const as = options.asAgent === true ? AS_AGENT : {};
    return (await client.complete({ ref, argument: { name, value }, ...context, ...as })).completion;
  };
  const prompt = (name: string) => ({ type: 'ref/prompt' as const, name });
  const template = (uri: string) => ({ type: 'ref/resource' as const, uri });

  it('of an argument whose schema lists its values needs nothing of the author', async () => {
    expect(await complete(prompt('paint'), 'colour', 'r')).toEqual({
      values: ['red', 'rose'],
      total: 2,
      hasMore: false,
    });
    expect((await complete(prompt('paint'), 'gloss', '')).values).toEqual(['true', 'false']);
    expect((await complete(prompt('paint_wall'), 'colour', 'b')).values).toEqual(['blue']);
    expect((await complete(prompt('paint_wall'), 'coats', '')).values).toEqual(['1', '2']);
  });

  it('takes a list by what it begins with, in whichever case, or a function that knows the other arguments', async () => {
    expect((await complete(prompt('mix'), 'first', 'R')).values).toEqual(['Red', 'rose']);
    const values = (await complete(prompt('mix'), 'second', 'b', { given: { first: 'red' } })).values;
    expect(values).toEqual(['red-b', mode === 'modern' ? '2026-07-28' : '2025-11-25']);
    expect((await complete(template('paint://{shelf}/{tin}'), 'tin', '1')).values).toEqual(['1', '12']);
  });

  it('is empty for an argument that nothing completes', async () => {
    const nothing = { values: [], total: 0, hasMore: false };
    expect(await complete(prompt('mix'), 'plain', '')).toEqual(nothing);
    expect(await complete(template('paint://{shelf}/{tin}'), 'shelf', '')).toEqual(nothing);
  });

  it('gives a hundred values at most, and says how many there are', async () => {
    const { values, total, hasMore } = await complete(prompt('many'), 'n', '');
    expect([values.length, total, hasMore]).toEqual([100, 250, true]);
  });

  it('names an argument that does not exist', async () => {
    expect(await errorOf(complete(prompt('mix'), 'third', ''))).toEqual({
      code: -32602,
      message: 'There is no argument "third"; there are: first, second, plain',
    });
  });

  it('that fails tells its client nothing of the cause', async () => {
    const { code, message } = await errorOf(complete(prompt('broken'), 'n', ''));
    expect([code, message]).toEqual([-32603, 'The completion of n failed']);
  });

  it('answers for what is hidden exactly as for what is unknown', async () => {
    for (const name of ['grading', 'nope', 'constructor']) {
      const unknown = { code: -32602, message: `Unknown prompt: ${name}` };
      expect(await errorOf(complete(prompt(name), 'n', ''))).toEqual(unknown);
      expect(await errorOf(complete(prompt(name), 'other', '', { meta: HARNESS, asAgent: true }))).toEqual(unknown);
    }
    for (const uri of ['key://{id}', 'nope://{id}', '__proto__', 'setup://functions']) {
      expect(await errorOf(complete(template(uri), 'id', ''))).toEqual({
        code: -32602,
        message: `Unknown resource: ${uri}`,
      });
    }
    expect((await complete(prompt('grading'), 'n', '', { meta: HARNESS })).values).toEqual(['secret']);
    expect((await complete(template('key://{id}'), 'id', '', { meta: HARNESS })).values).toEqual(['secret']);
  });
});

describe('a completer', () => {
  it('of what is no argument, or that is none, is refused at registration', () => {
    const env = new EnvironmentServer({ name: 'e' });
    const wrong = { args: { a: z.string() }, complete: { b: [] } as never };
    expect(() => env.prompt('p', wrong, () => '')).toThrow(
      'Prompt "p": complete has "b", which is not one of its arguments: a',
    );
    const number = { args: { a: z.string() }, complete: { a: 5 as never } };
    expect(() => env.prompt('p', number, () => '')).toThrow('complete.a has to be a list of texts or a function');
    expect(() => env.resource('a://{b}', { complete: { c: [] } as never }, () => '')).toThrow(
      'not one of its arguments: b',
    );
  });
});

it('the description of an argument lists its choices, for prompts and for those of scenarios', async () => {
  const environment = new EnvironmentServer({ name: 'choices' });
  const args = { tone: z.enum(['polite', 'angry']).describe('How it sounds.'), loud: z.boolean(), name: z.string() };
  environment.prompt('write', { args }, () => 'Write.');
  environment.scenario('read', { args }, async function* () {
    yield 'Read.';
    return 1;
  });
  const { prompts } = await (await connectInMemory(environment)).listPrompts();
  const described = prompts.map((prompt) => prompt.arguments?.map(({ description }) => description));
  expect(described).toEqual([
    ['How it sounds. One of: polite, angry.', 'One of: true, false.', undefined],
    ['How it sounds. (string) One of: polite, angry.', '(boolean) One of: true, false.', '(string)'],
  ]);
});
