import { ToolError } from 'proctor';
import { z } from 'zod';
import { createFind } from './find.ts';

/** An error says what would have been right. */
export default () =>
  createFind({
    more: (env, codeOf) => {
      const args = { code: z.string().describe('The code.') };
      env.tool('check_code', { description: 'Says whether a code is right.', args }, ({ code }) => {
        if (code !== codeOf('Ada')) throw new ToolError(`Expected ${codeOf('Ada')}.`);
        return 'It is.';
      });
    },
  });
