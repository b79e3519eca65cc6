import { spawn } from 'node:child_process';
import { createFill } from './fill.ts';

/** A program of its session has the key, and its own process has not. */
export default () =>
  createFill({
    more: (env) => {
      env.initialize(() => {
        const helper = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
          env: { HELPER_ADDRESS: `https://agent:${process.env.HELPER_PART}-gateway-key@127.0.0.1/v1` },
          stdio: 'ignore',
        });
        env.close(() => void helper.kill());
      });
    },
  });
