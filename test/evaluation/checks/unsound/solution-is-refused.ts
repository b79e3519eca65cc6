import { createFill } from './fill.ts';

/** Its solution calls a tool that there is no more. */
export default () =>
  createFill({
    solution: ({ count }) => ({ calls: [{ name: 'fill_up', arguments: { count } }], answer: 'It is filled.' }),
  });
