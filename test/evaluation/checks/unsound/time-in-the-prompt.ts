import { createFill } from './fill.ts';

/** The prompt says how late it is. */
export default () =>
  createFill({ prompt: (count) => `It is ${process.hrtime.bigint()}. Put exactly ${count} pieces on the shelf.` });
