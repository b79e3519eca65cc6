import { spawnSync } from 'node:child_process';
import { z } from 'zod';
import { createFill } from './fill.ts';

/** A tool runs commands where the environment itself runs. */
export default () =>
  createFill({
    more: (env) => {
      env.tool(
        'bash',
        { description: 'Runs a command.', args: { command: z.string().describe('The command.') } },
        ({ command }) => {
          const { stdout } = spawnSync('/bin/sh', ['-c', command], { encoding: 'utf8', timeout: 2_000 });
          return stdout ?? '';
        },
      );
    },
  });
