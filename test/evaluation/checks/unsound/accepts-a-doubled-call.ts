import { createFill } from './fill.ts';

/** More than enough is enough. */
export default () => createFill({ evaluate: ({ count }, wanted) => (count >= wanted && count <= 2 * wanted ? 1 : 0) });
