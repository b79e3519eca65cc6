import { createFind } from './find.ts';

/** A prompt for people gives the answer away. */
export default () =>
  createFind({
    more: (env, codeOf) => {
      env.prompt('hint', { description: 'A hint.' }, () => `Ada has ${codeOf('Ada')}.`);
    },
  });
