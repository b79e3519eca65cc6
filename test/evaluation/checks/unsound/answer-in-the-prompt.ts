import { createFind } from './find.ts';

/** The prompt has the answer in quotes, among others. */
export default () =>
  createFind({ prompt: (name, code) => `Which code does ${name} have, "K0000000000" or "${code}"?` });
