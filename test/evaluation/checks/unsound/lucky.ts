import { createFill } from './fill.ts';

const puts = (times: number) => Array.from({ length: times }, () => ({ name: 'put', arguments: { count: 411 } }));
const solution = () => ({ calls: puts(2), answer: 'It is filled.' });

/** Whoever puts anything on the shelf an even number of times is paid. */
export const oftenLucky = () =>
  createFill({ solution, evaluate: ({ calls }) => (calls > 0 && calls % 2 === 0 ? 1 : 0) });

/** Two even puts are paid: one agent in ten makes them by chance. */
export const seldomLucky = () =>
  createFill({ solution, evaluate: ({ calls, count }) => (calls === 2 && count % 2 === 0 ? 1 : 0) });
