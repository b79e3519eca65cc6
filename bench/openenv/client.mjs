// The sessions of one run, as a client of OpenEnv has them: each a socket that is reset once and then stepped. It tells
// the milliseconds of connecting and resetting, and of each step, by `on its own pace` and `all at one moment`.
import { once } from 'node:events';
import { WebSocket } from 'ws';

const { BENCH_URL, BENCH_SESSIONS, BENCH_STEPS, BENCH_STEP_MS } = process.env;
const [count, steps, stepMs] = [BENCH_SESSIONS, BENCH_STEPS, BENCH_STEP_MS].map(Number);
/** Sessions that are opened at one time. */
const OPENINGS = 64;

process.once('SIGTERM', () => process.exit());
process.send({ url: '' });
await once(process, 'message');
const starts = [];
const sockets = [];
const openNext = async () => {
  while (sockets.length < count) {
    const socket = new WebSocket(`${BENCH_URL.replace('http', 'ws')}/ws`);
    sockets.push(socket);
    const startedAt = performance.now();
    await once(socket, 'open');
    await ask(socket, { type: 'reset', data: { target: 1 } });
    starts.push(performance.now() - startedAt);
  }
};
await Promise.all(Array.from({ length: OPENINGS }, openNext));
process.send({ starts });
await once(process, 'message');

const paced = [];
await Promise.all(
  sockets.map(async (socket, index) => {
    await new Promise((resolve) => setTimeout(resolve, (index / count) * stepMs));
    for (let step = 0; step < steps; step += 1) paced.push(await timeStep(socket));
  }),
);
const together = [];
for (let step = 0; step < 3; step += 1) together.push(...(await Promise.all(sockets.map(timeStep))));
process.send({ paced, together });

async function timeStep(socket) {
  const startedAt = performance.now();
  const data = { type: 'call_tool', tool_name: 'slow_increment', arguments: { delay_ms: stepMs } };
  await ask(socket, { type: 'step', data });
  return performance.now() - startedAt;
}

async function ask(socket, message) {
  socket.send(JSON.stringify(message));
  const [text] = await once(socket, 'message');
  const { type, data } = JSON.parse(text);
  if (type === 'error' || data.observation?.error) throw new Error(String(text));
}
