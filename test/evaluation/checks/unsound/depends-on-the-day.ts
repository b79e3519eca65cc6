import { createFill } from './fill.ts';

/** On another day the shelf is another. */
export default () =>
  createFill({
    prompt: (count) => `Today is ${new Date().toISOString().slice(0, 10)}. Put exactly ${count} pieces on the shelf.`,
  });
