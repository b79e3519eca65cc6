import { expectSound } from 'proctor/testing';
import { expect, it } from 'vitest';
import Counter from '../../environments/counter/environment.ts';

it('has rewards that mean something', async () => {
  // Doing nothing is right in one of its tasks, small targets can be hit by chance, and a pause is not graded.
  const { findings } = await expectSound(Counter, { allowWarnings: ['idle', 'random', 'grader_strength'] });
  expect(findings.filter(({ level }) => level === 'error')).toEqual([]);
});
