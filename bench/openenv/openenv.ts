import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, start } from '../child.ts';

const SESSIONS = Number(process.env.BENCH_SESSIONS ?? 2_048);
/** Of each session, on its own pace. */
const STEPS = 8;
const STEP_MS = 1_000;
/** P99 of a step on two cores. */
const TARGET_MS = 1_300;
const MEBIBYTE = 1_048_576;

interface Times {
  readonly starts: readonly number[];
  readonly paced: readonly number[];
  readonly together: readonly number[];
  /** Of the server at rest, and with all sessions open, after garbage collection. */
  readonly heap: readonly [before: number, after: number];
  /** Of the server and the processes that it has started, with all sessions open. */
  readonly resident: number;
}

/**
 * Steps of a second in 2,048 sessions at once, beside a bare WebSocket server that answers after a second. Client, server
 * and two hosts are processes of their own; each step is written to SQLite, durably.
 */
export async function run(): Promise<void> {
  console.log(`OpenEnv: ${SESSIONS} sessions at once, steps of ${STEP_MS} ms; load ${load()}`);
  const bare = await play({ BENCH_BARE: 'true' });
  const ours = await play({});
  console.log('| ms | bare ws p50 | p99 | max | Proctor p50 | p99 | max | p99 ÷ bare | target p99 | |');
  console.log('|---|--:|--:|--:|--:|--:|--:|--:|--:|---|');
  report('step, each on its own pace', bare.paced, ours.paced, TARGET_MS);
  report('step, all at one moment', bare.together, ours.together);
  report('connect and reset, 64 at a time', bare.starts, ours.starts);
  const [before, after] = ours.heap;
  console.log(`\nHeap of the server for each session: ${Math.round((after - before) / SESSIONS / 1_024)} KiB.`);
  console.log(`Resident in all, hosts among it: ${Math.round(ours.resident / MEBIBYTE)} MiB.`);
  console.log(`Published for OpenEnv: P99 1.97 s at 2,048 sessions on eight workers. Load at the end ${load()}.`);
}

async function play(env: Readonly<Record<string, string>>): Promise<Times> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-bench-'));
  const shared = {
    ...env,
    // As docs/interop.md advises for many sessions.
    NODE_OPTIONS: '--max-semi-space-size=64',
    BENCH_DATABASE_URL: `sqlite:${join(folder, 'openenv.db')}`,
    BENCH_SESSIONS: String(SESSIONS),
    BENCH_STEPS: String(STEPS),
    BENCH_STEP_MS: String(STEP_MS),
  };
  const server = await start(new URL('server.mjs', import.meta.url), shared);
  const client = fork(new URL('client.mjs', import.meta.url), {
    env: { ...process.env, ...shared, BENCH_URL: server.url },
  });
  const ended = new AbortController();
  client.once('exit', (code) => ended.abort(new Error(`The client ended with ${code}`)));
  const next = async <Answer>() => (await once(client, 'message', { signal: ended.signal }))[0] as Answer;
  try {
    await next();
    const before = (await server.memory()).heapUsed;
    client.send('go');
    const { starts } = await next<Pick<Times, 'starts'>>();
    const after = (await server.memory()).heapUsed;
    const resident = await residentBytes(server);
    client.send('go');
    const steps = await next<Pick<Times, 'paced' | 'together'>>();
    return { starts, ...steps, heap: [before, after], resident };
  } finally {
    client.kill('SIGTERM');
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Of a process and of those that it has started. */
async function residentBytes({ pid }: Child): Promise<number> {
  const tasks = await readdir('/proc');
  const sizes = tasks
    .filter((name) => /^\d+$/.test(name))
    .map(async (name) => {
      const status = await readFile(`/proc/${name}/status`, 'utf8').catch(() => '');
      const parent = Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]);
      const bytes = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1_024;
      return Number(name) === pid || parent === pid ? bytes : 0;
    });
  return (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes, 0);
}

function report(name: string, bare: readonly number[], ours: readonly number[], target?: number): void {
  const cells = [bare, ours].flatMap((times) => [0.5, 0.99, 1].map((share) => quantile(times, share).toFixed(0)));
  const p99 = quantile(ours, 0.99);
  const ratio = (p99 / quantile(bare, 0.99)).toFixed(2);
  const verdict = target === undefined ? ['', ''] : [String(target), p99 <= target ? 'met' : 'MISSED'];
  console.log(`| ${name} | ${[...cells, ratio, ...verdict].join(' | ')} |`);
}

function quantile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

function load(): string {
  return loadavg()
    .map((value) => value.toFixed(1))
    .join(' ');
}
