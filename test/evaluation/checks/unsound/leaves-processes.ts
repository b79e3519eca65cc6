import { spawn } from 'node:child_process';
import { createFill } from './fill.ts';

/** Each session starts a process in a group of its own, which nobody ends. */
export default () =>
  createFill({
    more: (env) => {
      env.initialize(() => {
        spawn('sleep', ['600'], { detached: true, stdio: 'ignore' }).unref();
      });
    },
  });
