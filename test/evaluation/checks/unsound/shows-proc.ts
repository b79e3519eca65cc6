import { readFileSync } from 'node:fs';
import { ToolError } from 'proctor';
import { z } from 'zod';
import { createFill } from './fill.ts';

/** A tool shows the machine's state, the variables of its own process among it. */
export default () =>
  createFill({
    more: (env) => {
      env.tool(
        'show_state',
        { description: 'Shows a file of /proc.', args: { path: z.string().describe('Below /proc.') } },
        ({ path }) => {
          if (!path.startsWith('/proc/')) throw new ToolError('Only what is below /proc.');
          try {
            return readFileSync(path, 'utf8');
          } catch {
            throw new ToolError('There is no such file.');
          }
        },
      );
    },
  });
