// The scenario server with `counter` in processes, as BENCH_SESSIONS_PER_PROCESS says, for many sessions at one moment.
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { createModels, createTraceStore, openDatabase } from 'proctor/run-service';
import { startScenarioServer } from '../../../dist/service/chat/start.js';
import { answerQuestions } from '../../measured.mjs';

const { BENCH_DATABASE, BENCH_SESSIONS_PER_PROCESS, PROCTOR_GATEWAY_URL } = process.env;
const path = fileURLToPath(new URL('../../../environments/counter/environment.ts', import.meta.url));
const sessionsPerProcess = BENCH_SESSIONS_PER_PROCESS && Number(BENCH_SESSIONS_PER_PROCESS);
const database = await openDatabase(`sqlite:${BENCH_DATABASE}`);
const server = await startScenarioServer({
  environments: new Map([
    ['counter', { kind: 'module', path, ...(sessionsPerProcess ? { limits: { sessionsPerProcess } } : {}) }],
  ]),
  database,
  store: createTraceStore(database, { appUrl: 'http://127.0.0.1:8321' }),
  models: createModels({ gatewayUrl: PROCTOR_GATEWAY_URL, gatewayApiKey: 'none' }),
  model: 'turn',
  maxSessions: 2_000,
  host: '127.0.0.1',
  port: 0,
  logger: pino({ level: 'error' }, pino.destination({ dest: 2, sync: true })),
});
answerQuestions();
process.once('SIGTERM', async () => {
  await server.close();
  await database.close();
  process.exit(0);
});
process.send?.({ url: server.url });
