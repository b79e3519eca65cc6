import { z } from 'zod';
import { createFill } from './fill.ts';

/** A mistake of the agent is an error of the tool's. */
export default () =>
  createFill({
    more: (env) => {
      env.tool('take', { description: 'Takes a box.', args: { box: z.string().describe('Its name.') } }, ({ box }) => {
        throw new RangeError(`no box ${box}`);
      });
    },
  });
