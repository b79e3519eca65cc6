import { expect, it } from 'vitest';
import { naturalOrder, sortNaturally } from '../../../src/support/text/natural-order.ts';

it('counts as people do, and leaves equal ones as they are', () => {
  expect(sortNaturally(['settle-10', 'settle-2', 'b', 'settle-1', 'a-2-10', 'a-2-9'], (id) => id)).toEqual([
    ...['a-2-9', 'a-2-10', 'b', 'settle-1', 'settle-2', 'settle-10'],
  ]);
  expect(naturalOrder(['x-1', 'x-01', 'x-1'])).toEqual([0, 1, 2]);
});
