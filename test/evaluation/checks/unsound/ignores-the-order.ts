import { createFill } from './fill.ts';

/** The first piece lies at the bottom, which its info tells and its grader ignores. */
export default () => {
  const pieces: number[] = [];
  return createFill({
    prompt: (count) => {
      pieces.length = 0;
      return `Put exactly ${count} pieces on the shelf, in two goes: the larger one first.`;
    },
    put: (shelf, count) => {
      pieces.push(count);
      shelf.count += count;
      return 'They lie there.';
    },
    evaluate: ({ count }, wanted) => ({
      reward: count === wanted && pieces.length === 2 && pieces.includes(11) ? 1 : 0,
      info: { bottom: pieces[0] ?? 0 },
    }),
    solution: ({ count }) => ({
      calls: [
        { name: 'put', arguments: { count: count - 11 } },
        { name: 'put', arguments: { count: 11 } },
      ],
      answer: 'It is filled.',
    }),
  });
};
