import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Child, start } from '../child.ts';

const SESSIONS = Number(process.env.BENCH_SESSIONS ?? 200);
/** Milliseconds between two looks at `/healthz`. */
const LOOK_EVERY_MS = 20;
const MEMORY_EVERY_MS = 100;
const TARGETS = { answeredMs: 5_000, healthP99Ms: 100 } as const;
const START = {
  messages: [{ role: 'user', content: 'Add one.' }],
  scenario: 'count_to',
  scenario_args: { target: 1 },
};

/**
 * Chat sessions that are opened at the same moment: when each has the answer of its first turn, which is one tool call,
 * and what `/healthz` takes meanwhile. Gateway, server and client are processes of their own. `BENCH_SESSIONS=50` for a
 * smaller burst.
 */
export async function run(): Promise<void> {
  console.log(`\n${SESSIONS} chat sessions of counter at the same moment, each with a first turn of one tool call`);
  console.log(
    '| sessions in a process | answered | refused | median s | last s | /healthz p50 ms | p99 ms | p99 of an idle server | processor ms of the server for each | memory MiB |',
  );
  console.log('|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|');
  for (const [name, perProcess] of [
    ['as the environment says', ''],
    ['1', '1'],
  ].slice(0, Number(process.env.BENCH_PARTS ?? 2)) as [string, string][]) {
    await inServer(perProcess, (server, idleUrl) => report(name, server, idleUrl));
  }
  console.log(
    `Targets: all within ${TARGETS.answeredMs / 1_000} s in shared processes; /healthz p99 ${TARGETS.healthP99Ms} ms in both.`,
  );
}

async function inServer(perProcess: string, use: (server: Child, idleUrl: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-burst-'));
  const children: Child[] = [];
  const open = async (file: string, env: Readonly<Record<string, string>> = {}) => {
    const child = await start(new URL(`../scenario-server/servers/${file}`, import.meta.url), env);
    children.push(child);
    return child;
  };
  try {
    const gateway = await open('gateway.mjs');
    const server = await open('burst.mjs', {
      PROCTOR_GATEWAY_URL: gateway.url,
      BENCH_DATABASE: join(folder, 'traces.db'),
      BENCH_SESSIONS_PER_PROCESS: perProcess,
    });
    const idle = await open('idle.mjs');
    await use(server, idle.url);
  } finally {
    await Promise.all(children.map((child) => child.stop()));
    await rm(folder, { recursive: true, force: true });
  }
}

async function report(name: string, server: Child, idleUrl: string): Promise<void> {
  const agent = new Agent();
  // The server loads its router for the first request.
  await send(agent, 'GET', `${server.url}/healthz`);
  const watching = await watch(server, idleUrl);
  const cpuBefore = await server.cpuMs();
  const startedAt = performance.now();
  const answers = await Promise.all(
    Array.from({ length: SESSIONS }, async () => {
      const status = await send(agent, 'POST', `${server.url}/v1/chat/completions`, START);
      return { status, ms: performance.now() - startedAt };
    }),
  );
  const { healthMs, idleMs, peakMiB } = await watching.end();
  const cpuMs = ((await server.cpuMs()) - cpuBefore) / SESSIONS;
  agent.destroy();
  const answered = answers
    .filter(({ status }) => status === 200)
    .map(({ ms }) => ms)
    .sort(ascending);
  const cells = [
    answered.length,
    answers.length - answered.length,
    (at(answered, 0.5) / 1_000).toFixed(1),
    (at(answered, 1) / 1_000).toFixed(1),
    at(healthMs, 0.5).toFixed(1),
    at(healthMs, 0.99).toFixed(1),
    at(idleMs, 0.99).toFixed(1),
    cpuMs.toFixed(1),
    peakMiB.toFixed(0),
  ];
  console.log(`| ${name} | ${cells.join(' | ')} |`);
}

interface Watch {
  /** Ends it. Milliseconds, ascending: of `/healthz`, and of a server that has nothing else to do. */
  end(): Promise<{
    readonly healthMs: readonly number[];
    readonly idleMs: readonly number[];
    readonly peakMiB: number;
  }>;
}

/** Asks `/healthz` from a thread, whose event loop has nothing else to do. */
async function watch(server: Child, idleUrl: string): Promise<Watch> {
  const thread = new Worker(new URL('./health-thread.mjs', import.meta.url), {
    workerData: { urls: [`${server.url}/healthz`, idleUrl], everyMs: LOOK_EVERY_MS },
    execArgv: [],
  });
  await once(thread, 'message');
  let peakMiB = 0;
  const look = () => {
    peakMiB = Math.max(peakMiB, residentMiB(server.pid));
  };
  const timer = setInterval(look, MEMORY_EVERY_MS);
  return {
    async end() {
      clearInterval(timer);
      look();
      thread.postMessage('stop');
      const [[healthMs = [], idleMs = []]] = (await once(thread, 'message')) as [number[][]];
      return { healthMs: healthMs.sort(ascending), idleMs: idleMs.sort(ascending), peakMiB };
    },
  };
}

/** Of a process and all that descend from it. */
function residentMiB(pid: number): number {
  const parents = new Map<number, number>();
  const resident = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      parents.set(Number(name), Number(fields[1]));
      resident.set(Number(name), (Number(fields[21]) * 4_096) / 1024 / 1024);
    } catch {
      // It ended meanwhile.
    }
  }
  const isOurs = (each: number | undefined): boolean =>
    each !== undefined && each > 1 && (each === pid || isOurs(parents.get(each)));
  return [...resident].reduce((sum, [each, mebibytes]) => sum + (isOurs(each) ? mebibytes : 0), 0);
}

function send(agent: Agent, method: string, url: string, body?: object): Promise<number> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? '' : JSON.stringify(body);
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    const sent = request(url, { method, agent, headers }, (response) => {
      response.resume();
      response.on('error', reject);
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject);
    sent.end(text);
  });
}

function ascending(one: number, other: number): number {
  return one - other;
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
