import { createFill } from './fill.ts';

/** The parts say 0.5, the whole 1. */
export default () =>
  createFill({
    evaluate: ({ count }, wanted) => {
      const isFilled = count === wanted ? 1 : 0;
      return {
        reward: isFilled,
        info: { count },
        subscores: [
          { name: 'filled', value: isFilled },
          { name: 'tidy', value: 0 },
        ],
      };
    },
  });
