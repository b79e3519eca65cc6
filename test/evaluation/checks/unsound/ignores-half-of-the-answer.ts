import { createFind } from './find.ts';

/** Everything after the first four characters is ignored. */
export default () =>
  createFind({ evaluate: (answer, code) => answer.length > 3 && answer.slice(0, 4) === code.slice(0, 4) });
