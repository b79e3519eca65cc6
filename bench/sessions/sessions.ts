import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { BareHost, type RawSession } from './host.ts';

const SESSIONS = Number(process.env.BENCH_SESSIONS ?? 4_096);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 20);
/** Sessions that are opened first: the compiler of the host has to see the code. */
const WARM_UP = 500;
const IN_FLIGHT = 32;
const CALL_MS = 1_000;
const TARGETS = { perSecond: 2_000, kilobytes: 100, p99Ms: 1_100 } as const;
const COUNTER = fileURLToPath(new URL('../../environments/counter/environment.ts', import.meta.url));

/**
 * One host of `counter` through raw sockets: how fast sessions open, the memory that each holds, and how long a tool of
 * one second takes while every session calls it without a pause. The client is this process.
 */
export async function run(): Promise<void> {
  const host = await BareHost.start(process.env.BENCH_ENVIRONMENT ?? COUNTER);
  try {
    const warm = await open(host, WARM_UP);
    await sleep(1_000);
    const before = host.usage();
    const startedAt = performance.now();
    const sessions = await open(host, SESSIONS);
    const seconds = (performance.now() - startedAt) / 1_000;
    await sleep(1_000);
    const opened = host.usage();
    const cpuMs = (opened.cpuMs - before.cpuMs) / SESSIONS;
    print('sessions opened a second', SESSIONS / seconds, `at least ${TARGETS.perSecond}`);
    print('processor time of the host for each, ms', cpuMs, '', 3);
    print('KB of the host for each, idle', (opened.residentBytes - before.residentBytes) / SESSIONS / 1_000);
    await Promise.all(sessions.map((session) => session.ask('tools/call', CALL)));
    for (const session of warm) session.close();
    const calls = await load(sessions);
    const used = host.usage();
    const held = (used.residentBytes - before.residentBytes) / SESSIONS / 1_000;
    print('KB of the host for each, calling', held, `at most ${TARGETS.kilobytes}`);
    print('calls a second', calls.length / SECONDS);
    print('processor time of the host for each, ms', (used.cpuMs - opened.cpuMs) / (calls.length + SESSIONS), '', 3);
    print(`P50 of a call of ${CALL_MS} ms, ms`, calls[Math.floor(calls.length * 0.5)] ?? Number.NaN);
    print(
      `P99 of a call of ${CALL_MS} ms, ms`,
      calls[Math.floor(calls.length * 0.99)] ?? Number.NaN,
      `at most ${TARGETS.p99Ms}`,
    );
    for (const session of sessions) session.close();
  } finally {
    await host.stop();
  }
  await reportClient();
}

/** The other end: a process of its own that holds sessions of a host through the pool. */
async function reportClient(): Promise<void> {
  const child = fork(fileURLToPath(new URL('./client-heap.mjs', import.meta.url)), { execArgv: ['--expose-gc'] });
  const [held] = (await once(child, 'message')) as [Readonly<Record<string, number>>];
  print('KB of live heap of the client for each, idle', held.idleKb ?? Number.NaN, '', 1);
  print('the same, calling', held.callingKb ?? Number.NaN, `at most ${TARGETS.kilobytes}`, 1);
  print(
    'KB of the client for each, resident, calling',
    held.residentKb ?? Number.NaN,
    `at most ${TARGETS.kilobytes}`,
    1,
  );
  await once(child, 'exit');
}

const CALL = { name: 'slow_increment', arguments: { delay_ms: CALL_MS } };

async function open(host: BareHost, count: number): Promise<readonly RawSession[]> {
  const sessions: RawSession[] = [];
  let next = 0;
  const opener = async () => {
    while (next < count) {
      next += 1;
      sessions.push(await host.open(`session-${next}`));
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, opener));
  return sessions;
}

/** Latencies, sorted. The sessions begin one after another, as those of clients do. */
async function load(sessions: readonly RawSession[]): Promise<readonly number[]> {
  const latencies: number[] = [];
  const endsAt = performance.now() + SECONDS * 1_000;
  const caller = async (session: RawSession, index: number) => {
    await sleep((CALL_MS * index) / sessions.length);
    while (performance.now() < endsAt) {
      const sentAt = performance.now();
      await session.ask('tools/call', CALL);
      latencies.push(performance.now() - sentAt);
    }
  };
  await Promise.all(sessions.map(caller));
  return latencies.sort((one, other) => one - other);
}

function print(what: string, value: number, target = '', digits = 0): void {
  console.log(`${what.padEnd(44)} | ${value.toFixed(digits).padStart(8)} | ${target}`);
}
