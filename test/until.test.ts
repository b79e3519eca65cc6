import { expect, it } from 'vitest';
import { until } from './until.ts';

it('asks until the check gives something else than false, and gives that', async () => {
  let calls = 0;
  expect(await until(() => ++calls === 3 && 'found')).toBe('found');
  expect(calls).toBe(3);
});

it('asks until the check throws no more', async () => {
  let calls = 0;
  await until(() => expect(++calls).toBe(3));
  expect(calls).toBe(3);
});

it('ends after its limit, with the check and its last error', async () => {
  const never = () => expect('open').toBe('closed');
  await expect(until(never, { withinMs: 20 })).rejects.toThrow(
    /^Waited 20 ms in vain for .*closed.*, at last: expected 'open' to be 'closed'/s,
  );
});
