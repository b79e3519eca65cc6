import { EnvironmentServer, image, ToolError } from 'proctor';
import { z } from 'zod';
import type { EnvironmentTarget } from '../../src/environment/client/environment-client.ts';
import { inMemory } from '../../src/environment/server/in-memory.ts';

const Target = z.object({ target: z.int(), note: z.string().optional() });
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** An environment with every kind of result. */
export const SHOP: EnvironmentTarget = inMemory(createShop);

function createShop(): EnvironmentServer {
  const env = new EnvironmentServer({ name: 'shop', version: '1.0.0' });
  let count = 0;
  env.tool('add', { description: 'Adds to the count.', args: z.object({ by: z.int() }) }, ({ by }) => {
    count += by;
    return count;
  });
  env.tool(
    'print',
    { description: 'Prints a text of so many bytes.', args: z.object({ bytes: z.int() }) },
    ({ bytes }) => 'é'.repeat(Math.floor(bytes / 2)),
  );
  env.tool('fail', { description: 'Fails.', args: z.object({}) }, () => {
    throw new ToolError('It is broken');
  });
  env.tool('look', { description: 'Shows a picture.', args: z.object({ large: z.boolean() }) }, ({ large }) => [
    { type: 'text' as const, text: 'A picture' },
    image(large ? Buffer.alloc(20_000, PIXEL).toString('base64') : PIXEL, 'image/png'),
  ]);
  env.scenario(
    'count',
    {
      args: Target,
      system: 'You count.',
      solution: ({ target }) => ({ calls: [{ name: 'add', arguments: { by: target } }], answer: 'done' }),
    },
    async function* ({ target, note = '' }) {
      count = 0;
      yield `Count to ${target}. ${note}`.trim();
      return count === target;
    },
  );
  env.scenario('guess', { args: Target, tools: [], solution: () => ({ calls: [], answer: '1' }) }, async function* () {
    const answer: unknown = yield 'Guess.';
    return answer === '1';
  });
  env.scenario(
    'structured',
    {
      args: Target,
      answer: z.object({ count: z.int() }),
      solution: ({ target }) => ({ calls: [], answer: { count: target } }),
    },
    async function* ({ target }) {
      const answer: { count: number } = yield 'Answer with the count.';
      return answer.count === target;
    },
  );
  return env;
}
