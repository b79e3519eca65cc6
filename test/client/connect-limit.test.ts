import { getEventListeners } from 'node:events';
import { expect, it, vi } from 'vitest';
import lively from './fixtures/lively/environment.ts';
import { connections } from './harness.ts';

const { connect } = connections();

it('a connection leaves no listener on the signal of whoever asked for it, nor on one made of it', async () => {
  const made: AbortSignal[] = [];
  const any = AbortSignal.any.bind(AbortSignal);
  const spy = vi.spyOn(AbortSignal, 'any').mockImplementation((signals) => {
    const signal = any(signals);
    made.push(signal);
    return signal;
  });
  const controller = new AbortController();
  const client = await connect({ kind: 'memory', environment: lively }, { signal: controller.signal });
  await client.close();
  spy.mockRestore();
  // Node.js keeps a combined signal that has a listener for as long as what it is made of.
  expect(made).not.toEqual([]);
  expect([controller.signal, ...made].map((signal) => getEventListeners(signal, 'abort').length)).toEqual(
    [controller.signal, ...made].map(() => 0),
  );
});
