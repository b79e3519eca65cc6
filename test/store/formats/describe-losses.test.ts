import { expect, it } from 'vitest';
import { describeLosses } from '../../../src/cli/exchange/export/describe-losses.ts';
import { Losses } from '../../../src/store/formats/losses.ts';

it('tells each lost field once, in columns, in the order of their paths', () => {
  const losses = new Losses();
  losses.add('steps[].message.extra', 'a line for others has no place for it', 12);
  losses.add('logs', 'the format has no log', 3);
  losses.add('steps[].message.extra', 'a line for others has no place for it');
  expect(describeLosses(losses.toList())).toEqual([
    'lost: logs                    3 ×  the format has no log',
    'lost: steps[].message.extra  13 ×  a line for others has no place for it',
  ]);
  expect(describeLosses([])).toEqual([]);
});
