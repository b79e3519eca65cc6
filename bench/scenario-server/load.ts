import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pino } from 'pino';
import Counter from '../../environments/counter/environment.ts';
import type { EnvironmentTarget } from '../../src/environment/client/environment-client.ts';
import { inMemory } from '../../src/environment/server/in-memory.ts';
import { createModels } from '../../src/models/gateway/create-model.ts';
import { type ScenarioServer, startScenarioServer } from '../../src/service/chat/start.ts';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { createTraceStore } from '../../src/store/traces/database-store.ts';
import { createCountingClient, type Post, playSession } from './players.ts';

/** The size; less of it for a look: `BENCH_SESSIONS=50 npm run bench -- load`. */
const SESSIONS = Number(process.env.BENCH_SESSIONS ?? 500);
const SIZE = { memory: SESSIONS, processes: Math.ceil(SESSIONS / 10), turns: 20 } as const;
const MEBIBYTE = 1024 * 1024;

/**
 * Sessions of `counter` that are all held at once and driven over HTTP by mixed surfaces, each turn one tool call and two
 * responses of a model that answers at once, traces kept in a file. An answer or a reward that is not the session's own
 * ends it. Client, server and model share this process; the environments of the second part have processes of their own.
 */
export async function run(): Promise<void> {
  console.log('| sessions at once | turns | s | turns/s | turn p50 ms | p99 ms | live heap before | after |');
  console.log('|---|--:|--:|--:|--:|--:|--:|--:|');
  await inServer(inMemory(Counter), async ({ post }) => {
    await play(post, Math.ceil(SESSIONS / 10)); // what is made once is there before it is measured
    await report(`${SIZE.memory} in memory`, post, SIZE.memory);
    await report(`${SIZE.memory} in memory, again`, post, SIZE.memory);
  });
  const path = fileURLToPath(new URL('../../environments/counter/environment.ts', import.meta.url));
  await inServer({ kind: 'module', path }, async ({ post }) => {
    await play(post, 2);
    await report(`${SIZE.processes} in processes`, post, SIZE.processes);
  });
}

interface Running {
  readonly server: ScenarioServer;
  readonly post: Post;
}

async function inServer(environment: EnvironmentTarget, use: (running: Running) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-load-'));
  const database = await openDatabase(`sqlite:${join(folder, 'traces.db')}`);
  const agent = new Agent({ keepAlive: true });
  const server = await startScenarioServer({
    environments: new Map([['counter', environment]]),
    database,
    store: createTraceStore(database, { appUrl: 'http://127.0.0.1:8321' }),
    models: createModels({ client: createCountingClient() }),
    model: 'counting',
    host: '127.0.0.1',
    port: 0,
    logger: pino({ level: 'silent' }),
  });
  try {
    await use({ server, post: (path, body) => send(agent, server.url, path, body) });
  } finally {
    await server.close();
    agent.destroy();
    await database.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function play(post: Post, sessions: number): Promise<number[]> {
  const plans = Array.from({ length: sessions }, (_, number) => ({ number, turns: SIZE.turns }));
  const played = await Promise.all(plans.map((plan) => playSession(post, plan)));
  if (new Set(played.map(({ sessionId }) => sessionId)).size !== sessions) throw new Error('Two sessions were one');
  return played.flatMap(({ turnMs }) => turnMs).sort((one, other) => one - other);
}

async function report(name: string, post: Post, sessions: number): Promise<void> {
  const before = await liveHeap();
  const startedAt = performance.now();
  const turns = await play(post, sessions);
  const seconds = (performance.now() - startedAt) / 1_000;
  const after = await liveHeap();
  const cells = [
    turns.length.toLocaleString('en'),
    seconds.toFixed(1),
    (turns.length / seconds).toFixed(0),
    at(turns, 0.5).toFixed(1),
    at(turns, 0.99).toFixed(1),
    `${(before / MEBIBYTE).toFixed(1)} MiB`,
    `${(after / MEBIBYTE).toFixed(1)} MiB`,
  ];
  console.log(`| ${name} | ${cells.join(' | ')} |`);
}

/** After a forced collection, once what is being closed has been. */
async function liveHeap(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    collect();
    least = Math.min(least, process.memoryUsage().heapUsed);
  }
  return least;
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}

function send(agent: Agent, url: string, path: string, body: object): ReturnType<Post> {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    const sent = request(new URL(path, url), { method: 'POST', agent, headers }, (response) => {
      let reply = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        reply += piece;
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: reply }));
    });
    sent.on('error', reject);
    sent.end(text);
  });
}
