import { openEnvironment } from 'proctor/testing';
import { expect, it } from 'vitest';
import desk from './refund.ts';

it('solves every task that it declares', async () => {
  await using env = await openEnvironment(desk);
  for (const task of await env.tasks()) expect((await env.run(task)).reward).toBe(1);
});
