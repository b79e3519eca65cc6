import { expect, it } from 'vitest';
import { toSample } from '../../../src/store/formats/inspect/write-sample.ts';
import { randomTrace } from './random-trace.ts';
import { writeContext } from './round-trip.ts';

it('a sample of a run without a reward has no scores, but the field: viewers break without it', () => {
  const trace = { ...randomTrace(1), reward: null };
  expect(toSample(trace, { id: 'task', epoch: 1 }, writeContext())).toMatchObject({ scores: {} });
});
