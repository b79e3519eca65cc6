import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import lively from './fixtures/lively/environment.ts';
import { connections } from './harness.ts';

const { connect } = connections();

it('a connection leaves no listener on the signal of its caller', async () => {
  const controller = new AbortController();
  const client = await connect(inMemory(lively), { signal: controller.signal });
  await client.close();
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
});
