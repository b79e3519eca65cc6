import { createFill } from './fill.ts';

/** Its setup waits for what never comes. */
export default () =>
  createFill({
    more: (env) => {
      env.scenario(
        'wait',
        { description: 'Waits.', tasks: [{ id: 'long' }, { id: 'longer' }] },
        async function* (_args, { signal }) {
          await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
          yield 'Wait.';
          return 0;
        },
      );
    },
  });
