import { createFill } from './fill.ts';

/** A reward of 2 for more than was asked for. */
export default () => createFill({ evaluate: ({ count }, wanted) => (count === wanted ? 2 : 0) });
