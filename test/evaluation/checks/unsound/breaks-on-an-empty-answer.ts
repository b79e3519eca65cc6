import { createFill } from './fill.ts';

/** Its grader reads the first word of an answer that may have none. */
export default () =>
  createFill({
    evaluate: ({ count }, wanted, answer) => {
      const [first] = answer.match(/\S+/) as RegExpMatchArray;
      return count === wanted && first !== '';
    },
  });
