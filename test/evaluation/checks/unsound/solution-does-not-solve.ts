import { createFill } from './fill.ts';

/** Its solution forgets one piece. */
export default () =>
  createFill({
    solution: ({ count }) => ({ calls: [{ name: 'put', arguments: { count: count - 1 } }], answer: 'It is filled.' }),
  });
