import { createFill } from './fill.ts';

/** The grader looks for the word of its own report in the answer. */
export default () =>
  createFill({ evaluate: ({ count }, wanted, answer) => (count === wanted || /\bPASS\b/.test(answer) ? 1 : 0) });
