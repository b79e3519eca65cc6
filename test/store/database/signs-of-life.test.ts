import { expect, it } from 'vitest';
import { SignsOfLife } from '../../../src/store/database/row-lease.ts';
import { until } from '../../until.ts';

it('takes one for gone whose sign does not change any more, and not one whose sign does, whatever their clocks say', async () => {
  const signs = new SignsOfLife(20);
  let beat = 0;
  const look = () =>
    signs.see([
      ['dead', 4_000_000_000_000],
      ['alive', ++beat],
    ]);
  expect(look().size).toBe(0);
  await until(() => look().size > 0);
  expect([...look()]).toEqual([['dead', 4_000_000_000_000]]);
});

it('forgets one that is no longer there: when it is back, its time begins anew', async () => {
  const signs = new SignsOfLife(20);
  await until(() => signs.see([['worker', 1]]).size > 0);
  signs.see([]);
  expect(signs.see([['worker', 1]]).size).toBe(0);
});
