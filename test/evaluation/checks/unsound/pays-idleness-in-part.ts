import { createFill } from './fill.ts';

/** Half of the reward is for not having broken anything. */
export default () => createFill({ evaluate: ({ count }, wanted) => (count === wanted ? 1 : count === 0 ? 0.5 : 0) });
