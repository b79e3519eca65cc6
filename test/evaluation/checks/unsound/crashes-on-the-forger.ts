import { z } from 'zod';
import { createFill } from './fill.ts';

/** A path out of its folder ends the whole process. */
export default () =>
  createFill({
    more: (env) => {
      env.tool(
        'open_box',
        { description: 'Opens a box.', args: { name: z.string().describe('Its name.') } },
        ({ name }) => {
          if (name.includes('../')) process.exit(3);
          return `The box ${name.length} is empty.`;
        },
      );
    },
  });
