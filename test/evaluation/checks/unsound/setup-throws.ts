import { createFill } from './fill.ts';

/** A task that it declares cannot be set up. */
export default () =>
  createFill({
    more: (env) => {
      env.scenario('break', { description: 'Breaks.', tasks: [{ id: 'one' }] }, async function* () {
        if (env !== undefined) throw new Error('the shelf fell down');
        yield 'Break it.';
        return 0;
      });
    },
  });
