import { openEnvironment, scriptedModel } from 'proctor/testing';
import { expect, it } from 'vitest';
import door, { createDoor } from './door.ts';

const push = { toolCalls: [{ name: 'push' }] };

it('pays whoever shuts the door', async () => {
  await using env = await openEnvironment(door);
  const { shut } = createDoor();
  await env.run(shut.with({ times: 1 }), { model: 'proctor/noop' });
  // shut.with({ times: 'once' }) does not compile
  expect((await env.run(shut.with({ times: 1 }), { model: 'proctor/noop' })).reward).toBe(0);
  expect((await env.run(shut.with(), { model: scriptedModel(['Done.']) })).reward).toBe(0);
  expect((await env.run(shut.with(), { model: scriptedModel([push, 'Done.']) })).reward).toBe(1);
});
