// A worker as one writes it by hand with BullMQ: for each job an environment of its own, the MCP calls of a run of `counter`
// as our client makes them, and nothing else. No trace, no admission, no limits; a job that dies is BullMQ's affair.

import { fileURLToPath } from 'node:url';
import { createPostgresBackend, Worker } from 'bullmq';
import { inMemory } from 'proctor';
import { connectEnvironment } from 'proctor/client';
import { Counter } from '../../in-memory.mjs';
import { answerQuestions } from '../../measured.mjs';

const { BENCH_QUEUE_URL, BENCH_CONCURRENCY, BENCH_ISOLATION } = process.env;
const path = fileURLToPath(new URL('../../../environments/counter/environment.ts', import.meta.url));
const target = BENCH_ISOLATION === 'processes' ? { kind: 'module', path } : inMemory(Counter);

async function play({ data: { scenario, args } }) {
  const client = await connectEnvironment(target);
  try {
    const setup = await client.setup(scenario, args);
    await client.tools({ patterns: setup.tools });
    const { calls, answer } = await client.solution(scenario, args, []);
    for (const call of calls) await client.call(call.name, call.arguments);
    return await client.evaluate(scenario, answer);
  } finally {
    await client.close();
  }
}

const settings = { concurrency: Number(BENCH_CONCURRENCY ?? 8), autorun: false };
const worker = BENCH_QUEUE_URL.startsWith('redis:')
  ? new Worker('bare', play, { ...settings, connection: { url: BENCH_QUEUE_URL } })
  : new Worker('bare', play, { ...settings, connection: { connectionString: BENCH_QUEUE_URL } }, createPostgresBackend);
worker.on('failed', (_job, error) => console.error(error));
answerQuestions(() => void worker.run());
process.once('SIGTERM', async () => {
  await worker.close(true);
  process.exit(0);
});
process.send?.({ url: '' });
