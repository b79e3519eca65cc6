import { createFill } from './fill.ts';

/** It asks a judge about the talk, and pays whatever the judge says. */
export default () =>
  createFill({
    judge: true,
    evaluate: async (_shelf, _count, answer, { judge }) => {
      await judge({ rubric: 'Was it kind?', material: answer });
      return 1;
    },
  });
