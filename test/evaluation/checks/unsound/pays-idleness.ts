import { createFill } from './fill.ts';

/** A shelf that was left alone counts as well as one that was filled. */
export default () => createFill({ evaluate: ({ count }, wanted) => count === wanted || count === 0 });
