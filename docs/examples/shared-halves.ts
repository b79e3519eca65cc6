import { EnvironmentServer, Hub, serveMain } from 'proctor';
import { z } from 'zod';

/** Two scenarios that share how they begin and how they are graded. */
export default function countdown() {
  const env = new EnvironmentServer({ name: 'countdown' });
  let count = 0;
  env.tool('step', { args: { by: z.int() } }, ({ by }) => (count += by));

  env.mount(
    new Hub('setup').tool('seed', { args: { value: z.int() } }, ({ value }) => {
      count = value;
    }),
  );
  env.mount(new Hub('evaluate').tool('equals', { args: { expected: z.int() } }, ({ expected }) => count === expected));

  env.scenario('count_from', {
    args: { start: z.int(), target: z.int() },
    prompt: 'The counter shows {{start}}. Bring it to {{target}}.',
    setup: { name: 'seed', arguments: { value: '{{start}}' } },
    evaluate: { name: 'equals', arguments: { expected: '{{target}}' } },
    solution: ({ start, target }) => ({ calls: [{ name: 'step', arguments: { by: target - start } }], answer: 'done' }),
  });

  env.scenario('count_down', {
    args: { start: z.int().min(1) },
    prompt: 'The counter shows {{start}}. Bring it to zero.',
    setup: { name: 'seed', arguments: { value: '{{start}}' } },
    evaluate: { name: 'equals', arguments: { expected: 0 } },
    solution: ({ start }) => ({ calls: [{ name: 'step', arguments: { by: -start } }], answer: 'done' }),
  });

  return env;
}

serveMain(import.meta, countdown);
