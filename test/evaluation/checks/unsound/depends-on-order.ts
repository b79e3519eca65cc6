import { createFill } from './fill.ts';

let served = 0;

/** Those that come later are told of those that came before. */
export default () =>
  createFill({
    prompt: (count) => `Put exactly ${count} pieces on the shelf.${served > 0 ? ' Others did it before you.' : ''}`,
    evaluate: ({ count }, wanted) => {
      served += 1;
      return { reward: count === wanted ? 1 : 0, info: { count } };
    },
  });
