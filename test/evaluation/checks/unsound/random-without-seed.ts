import { createFill } from './fill.ts';

/** What a tool says is drawn, and not by the seed. */
export default () =>
  createFill({
    put: (shelf, count) => {
      shelf.count += count;
      return `Receipt ${Math.random()}`;
    },
  });
