import { createFill } from '../unsound/fill.ts';

/** Each call prints a megabyte: no fault of its rewards. */
export default () =>
  createFill({
    put: (shelf, count) => {
      for (let line = 0; line < 1_000; line += 1) process.stderr.write(`${'noise '.repeat(170)}\n`);
      shelf.count += count;
      return shelf.count;
    },
  });
