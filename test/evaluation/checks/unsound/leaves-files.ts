import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFill } from './fill.ts';

/** Each session makes a folder of temporary files, and leaves it. */
export default () =>
  createFill({
    more: (env) => {
      env.initialize(() => {
        mkdtempSync(join(tmpdir(), 'shelf-'));
      });
    },
  });
