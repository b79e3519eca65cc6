import { readFile } from 'node:fs/promises';
import { ToolError } from 'proctor';
import { z } from 'zod';
import { createFill } from './fill.ts';

/** A tool reads whatever it is asked for. */
export default () =>
  createFill({
    more: (env) => {
      env.tool(
        'read_file',
        { description: 'Reads a file.', args: { path: z.string().describe('Its path.') } },
        async ({ path }) => {
          return await readFile(path, 'utf8').catch(() => {
            throw new ToolError('There is no such file.');
          });
        },
      );
    },
  });
