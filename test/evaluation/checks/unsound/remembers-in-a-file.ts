import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFill } from './fill.ts';

/** It counts its visitors in a file that outlives it, and tells the count. */
export default () => {
  const file = join(tmpdir(), 'visitors');
  return createFill({
    prompt: (count) => {
      const visitors = existsSync(file) ? readFileSync(file, 'utf8').length : 0;
      return `Visitor ${visitors}: put exactly ${count} pieces on the shelf.`;
    },
    evaluate: ({ count }, wanted) => {
      writeFileSync(file, 'x', { flag: 'a' });
      return { reward: count === wanted ? 1 : 0, info: { count } };
    },
  });
};
