import { expectSound } from 'proctor/testing';
import { expect, it } from 'vitest';
import Counter from '../../environments/counter/environment.ts';

it('has rewards that mean something', async () => {
  // Doing nothing is right in one of its tasks, and small targets can be hit by chance.
  const { findings } = await expectSound(Counter, { allowWarnings: ['idle', 'random'] });
  expect(findings.filter(({ level }) => level === 'error')).toEqual([]);
});
