// One process of an installation, as BENCH_ROLE says: `serve` accepts runs and executes none, `worker` executes those that
// it finds from `go` on, `both` does all of it. The environments are in memory, or in processes of one session each where
// BENCH_ISOLATION is `processes`, and in processes that sessions share where it is `hosts`.

import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { inMemory } from 'proctor';
import {
  createAccounts,
  createModels,
  createTraceStore,
  openDatabase,
  openQueue,
  startRunService,
  startWorker,
} from 'proctor/run-service';
import { Counter, Retail } from '../../in-memory.mjs';
import { answerQuestions } from '../../measured.mjs';

const { BENCH_ROLE, BENCH_DATABASE_URL, BENCH_QUEUE_URL, BENCH_CONCURRENCY, BENCH_ISOLATION = 'memory' } = process.env;
const appUrl = 'http://127.0.0.1:8320';
const limits = BENCH_ISOLATION === 'processes' ? { sessionsPerProcess: 1 } : {};
const moduleOf = (name) => ({
  kind: 'module',
  path: fileURLToPath(new URL(`../../../environments/${name}/environment.ts`, import.meta.url)),
  limits,
});

const database = await openDatabase(BENCH_DATABASE_URL);
const parts = {
  database,
  store: createTraceStore(database, { appUrl }),
  queue: await openQueue(BENCH_QUEUE_URL || undefined, database),
  accounts: createAccounts(database),
  models: createModels({ gatewayUrl: process.env.PROCTOR_GATEWAY_URL, gatewayApiKey: 'none' }),
  environments: new Map([
    ['counter', BENCH_ISOLATION === 'memory' ? inMemory(Counter) : moduleOf('counter')],
    ['retail', BENCH_ISOLATION === 'memory' ? inMemory(Retail) : moduleOf('retail')],
  ]),
  logger: pino({ level: 'warn' }, pino.destination({ dest: 2, sync: true })),
};
const settings = { concurrency: Number(BENCH_CONCURRENCY ?? 8) };

let worker;
let service;
if (BENCH_ROLE !== 'worker') {
  service = await startRunService({
    ...parts,
    appUrl,
    host: '127.0.0.1',
    port: 0,
    worker: BENCH_ROLE === 'both' && settings,
  });
}
answerQuestions(() => {
  worker = startWorker({ ...parts, ...settings });
});
process.once('SIGTERM', async () => {
  await Promise.all([worker?.stop(3_000), service?.close()]);
  await parts.queue.close();
  await database.close();
  process.exit(0);
});
process.send?.({ url: service?.url ?? '' });
