import { createServer } from 'node:net';
import { createFill } from './fill.ts';

/** Each session listens on a port, also when it is over; the event loop does not count the socket. */
export default () =>
  createFill({
    more: (env) => {
      env.initialize(async () => {
        await new Promise<void>((resolve) => {
          const server = createServer().listen(0, '127.0.0.1', resolve);
          server.unref();
        });
      });
    },
  });
