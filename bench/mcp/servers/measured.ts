// The environment `counter` over HTTP, in a process that tells its live heap when it is asked over IPC.
import { serve } from 'proctor';
import Counter from '../../../environments/counter/environment.ts';

const idleTimeoutMs = Number(process.env.IDLE_TIMEOUT_MS ?? 3_600_000);
const { url } = await serve(Counter, { transport: 'http', port: 0, idleTimeoutMs });

process.on('message', async (question) => {
  if (question === 'url') process.send?.(url);
  if (question !== 'heap') return;
  // What a request leaves behind may need a turn of the event loop before nothing holds it any more.
  for (let round = 0; round < 4; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    globalThis.gc?.();
  }
  process.send?.(process.memoryUsage());
});
