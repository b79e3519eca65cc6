import { z } from 'zod';
import { createFill } from './fill.ts';

/** Arguments that nobody can make up. */
export default () =>
  createFill({
    more: (env) => {
      const args = {
        key: z
          .string()
          .regex(/^(?=.*[A-Z])(?=.*\d)[A-Z\d]{24}-[a-f]{9}$/)
          .describe('The key.'),
      };
      env.scenario('unlock', { description: 'Unlocks the door.', args }, async function* () {
        yield 'Unlock it.';
        return 0;
      });
    },
  });
