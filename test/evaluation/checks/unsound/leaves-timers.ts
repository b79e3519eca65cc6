import { createFill } from './fill.ts';

/** Each session has a timer, which nobody stops. */
export default () =>
  createFill({
    more: (env) => {
      env.initialize(() => {
        setInterval(() => {}, 60_000);
      });
    },
  });
