import { createFind } from './find.ts';

/** The codes are a resource too, which every agent may read. */
export default () =>
  createFind({
    more: (env, codeOf) => {
      env.resource('book://codes', { description: 'All codes.' }, () => ({
        Ada: codeOf('Ada'),
        Grace: codeOf('Grace'),
      }));
    },
  });
