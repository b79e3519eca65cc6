import { createFind } from './find.ts';

/** The description of a tool has an example, which is the answer. */
export default () =>
  createFind({
    more: (env, codeOf) => {
      env.tool(
        'check_code',
        { description: `Says whether a code is well formed, such as ${codeOf('Ada')}.` },
        () => 'It is.',
      );
    },
  });
