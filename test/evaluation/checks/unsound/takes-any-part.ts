import { createFind } from './find.ts';

/** A part of the question is taken for the answer. */
export default () =>
  createFind({
    evaluate: (answer, code) => answer === code || (answer.length > 2 && 'Ada Grace'.includes(answer)),
    prompt: (name) => `Which code does "${name}" have?`,
  });
