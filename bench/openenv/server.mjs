// An OpenEnv server of the counter in hosts, or, with BENCH_BARE, the least server that could stand there: a WebSocket
// that answers each message after a second.
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { createModels, createTraceStore, openDatabase } from 'proctor/run-service';
import { WebSocketServer } from 'ws';
import { startOpenEnvServer } from '../../dist/service/bridges/openenv/start.js';
import { answerQuestions } from '../measured.mjs';

const { BENCH_BARE, BENCH_DATABASE_URL, BENCH_SESSIONS, BENCH_STEP_MS } = process.env;
const stepMs = Number(BENCH_STEP_MS);
answerQuestions();

if (BENCH_BARE === 'true') serveBare();
else await serve();

function serveBare() {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 }, () => {
    process.send({ url: `http://127.0.0.1:${server.address().port}` });
  });
  server.on('connection', (socket) => {
    socket.on('message', (data) => {
      const { type } = JSON.parse(data);
      const body = JSON.stringify({ type: 'observation', data: { observation: {}, reward: null, done: false } });
      if (type === 'step') setTimeout(() => socket.send(body), stepMs);
      else socket.send(body);
    });
  });
  process.once('SIGTERM', () => process.exit());
}

async function serve() {
  const database = await openDatabase(BENCH_DATABASE_URL);
  const sessions = Number(BENCH_SESSIONS);
  const path = fileURLToPath(new URL('../../environments/counter/environment.ts', import.meta.url));
  const server = await startOpenEnvServer({
    environment: ['counter', { kind: 'module', path, limits: { sessionsPerProcess: Math.ceil(sessions / 2) } }],
    scenario: 'count_to',
    database,
    store: createTraceStore(database, { appUrl: '' }),
    models: createModels({}),
    logger: pino({ level: 'error' }),
    directory: fileURLToPath(new URL('.', import.meta.url)),
    host: '127.0.0.1',
    port: 0,
    maxSessions: sessions,
    hosts: 2,
  });
  process.send({ url: server.url });
  process.once('SIGTERM', async () => {
    await server.close();
    await database.close();
    process.exit();
  });
}
