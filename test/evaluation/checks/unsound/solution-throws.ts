import { createFill } from './fill.ts';

/** Its solution fails before its first call. */
export default () =>
  createFill({
    solution: () => {
      throw new Error('the plan is lost');
    },
  });
