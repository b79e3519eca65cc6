// The scenario server with `counter`, in a process that tells its live heap and processor time when it is asked over IPC.
import { fileURLToPath } from 'node:url';
import { serveScenarios } from 'proctor/scenario-server';
import { Counter } from './counter.mjs';

const module = fileURLToPath(new URL('../../../environments/counter/environment.ts', import.meta.url));
const { url } = await serveScenarios({
  environment: process.env.BENCH_IN_PROCESSES === undefined ? Counter : module,
  model: 'turn',
  port: 0,
  maxSessions: 2_000,
  store: `sqlite:${process.env.BENCH_DATABASE}`,
});

process.on('message', async (question) => {
  if (question === 'cpu') {
    process.send?.(process.cpuUsage());
    return;
  }
  // What a request leaves behind may need a turn of the event loop before nothing holds it any more.
  for (let round = 0; round < 4; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    globalThis.gc?.();
  }
  process.send?.(process.memoryUsage());
});
process.send?.({ url });
