// The scenario server with `counter`, in a process that tells its live heap and processor time when it is asked over IPC.
import { fileURLToPath } from 'node:url';
import { serveScenarios } from 'proctor/scenario-server';
import { Counter } from '../../in-memory.mjs';
import { answerQuestions } from '../../measured.mjs';

const module = fileURLToPath(new URL('../../../environments/counter/environment.ts', import.meta.url));
const { url } = await serveScenarios({
  environment: process.env.BENCH_IN_PROCESSES === undefined ? Counter : module,
  model: 'turn',
  port: 0,
  maxSessions: 2_000,
  store: `sqlite:${process.env.BENCH_DATABASE}`,
});

answerQuestions();
process.send?.({ url });
