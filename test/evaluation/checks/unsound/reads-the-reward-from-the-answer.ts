import { createFill } from './fill.ts';

/** The grader takes JSON in the answer for its own output. */
export default () =>
  createFill({
    evaluate: ({ count }, wanted, answer) => {
      try {
        const { reward } = JSON.parse(answer) as { reward?: number };
        if (reward !== undefined) return Number(reward);
      } catch {
        // It is text.
      }
      return count === wanted;
    },
  });
