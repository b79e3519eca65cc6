import { createFill } from './fill.ts';

/** A second setup in one session finds the shelf as the first one left it. */
export default () =>
  createFill({
    startsOver: false,
    prompt: (count, shelf) => `There are ${shelf.count}. Have ${shelf.count + count}.`,
    evaluate: (shelf, wanted) => ({ reward: shelf.count % 1_313 === wanted ? 1 : 0, info: { count: shelf.count } }),
  });
