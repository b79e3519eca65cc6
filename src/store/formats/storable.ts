import { FormatError, type ImportedTrace } from './imported-trace.ts';

/** Larger counts and milliseconds cannot come from a run, and columns and dates cannot hold them. */
const MAX_NUMBER = 1e12;
const MAX_INDEX = 1e9;

/** @throws FormatError for a number that no run can have. */
export function refuseUnstorable(trace: ImportedTrace): void {
  const { usage, timing, steps, turns, attempt_index, max_steps, reward } = trace;
  const durations = steps.flatMap((step) => [step.model_ms, ...step.tool_results.map((result) => result.duration_ms)]);
  const { user, judge, sample, ...own } = usage;
  const ofHarness = [user, judge, sample].flatMap((each) => (each === undefined ? [] : Object.values(each)));
  const large = [...Object.values(own), ...ofHarness, ...Object.values(timing), ...durations];
  for (const number of large) refuse('a count or a duration', number, MAX_NUMBER);
  const indices = [attempt_index, max_steps, ...steps.map(({ step }) => step), ...turns.map(({ turn }) => turn)];
  for (const number of indices) refuse('a number of a step, a turn or an attempt', number, MAX_INDEX);
  if (reward !== null && !Number.isFinite(reward))
    throw new FormatError(`The reward is ${reward}; it has to be finite.`);
}

function refuse(name: string, number: number | null | undefined, limit: number): void {
  if (number === null || number === undefined || (number >= 0 && number <= limit)) return;
  throw new FormatError(`It has ${name} of ${number}; from 0 to ${limit} can be stored.`);
}
