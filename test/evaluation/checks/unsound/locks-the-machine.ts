import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFill } from './fill.ts';

/** One session of the whole machine at a time, though its own process knows better. */
export default () => {
  const file = join(tmpdir(), 'lock');
  return createFill({
    prompt: (count) => {
      const isTaken = existsSync(file) && !readOwn();
      if (!isTaken) writeFileSync(file, String(process.pid));
      return `${isTaken ? 'Somebody else is here too. ' : ''}Put exactly ${count} pieces on the shelf.`;
    },
    evaluate: ({ count }, wanted) => {
      rmSync(file, { force: true });
      return { reward: count === wanted ? 1 : 0, info: { count } };
    },
    more: (env) => {
      env.close(() => rmSync(file, { force: true }));
    },
  });

  function readOwn(): boolean {
    return readFileSync(file, 'utf8') === String(process.pid);
  }
};
