import { expect, it } from 'vitest';
import { ConnectionLostError, UniqueViolationError } from '../../../src/store/database/store-errors.ts';
import { untilWritten } from '../../../src/store/database/until-written.ts';

it('a write whose connection is lost again while it is looked for is found at the next look', async () => {
  const lost = () => Promise.reject(new ConnectionLostError(undefined));
  const taken = () => Promise.reject(new UniqueViolationError('taken by its own first try'));
  const tries: readonly (() => Promise<string>)[] = [lost, taken, taken];
  const looks: readonly (() => Promise<string | undefined>)[] = [
    async () => undefined,
    lost,
    async () => 'the first try',
  ];
  const asked = { tries: 0, looks: 0 };
  const written = untilWritten(() => tries[asked.tries++]?.() ?? Promise.reject(new Error('tried too often')), {
    found: async () => await looks[asked.looks++]?.(),
  });
  expect(await written).toBe('the first try');
  expect(asked).toEqual({ tries: 2, looks: 3 });
});
