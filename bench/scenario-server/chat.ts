import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, start } from '../child.ts';
import { median } from '../mcp/load.ts';
import { abandon, COUNT, hangUp, streamedTurn, turn } from './chat-client.ts';

const ROUNDS = Number(process.env.BENCH_REPETITIONS ?? 9);
/** First tokens, and starts of sessions, on each side of a round. */
const SAMPLES = 20;
const SESSIONS = 8;
/** Of each session in a round, after the one that opens it. */
const TURNS = 10;
const IDLE_SESSIONS = 500;
const KIB = 1_024;
const NS_PER_MS = 1e6;
const TARGETS = { firstTokenMs: 3, deltaMs: 0.2, throughput: 0.8, idleKib: 60, startMs: 15 } as const;

/**
 * What the scenario server adds to a chat: to the first token and to each delta of a gateway, to a turn beside a loop
 * written by hand of express, `openai` and an MCP client, and what a session costs. Gateway and servers are processes of
 * their own, over real sockets; the sides of a round follow each other in alternating order. Traces are written to
 * SQLite, durably; the loops by hand keep nothing.
 */
export async function run(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-bench-'));
  const children: Child[] = [];
  const open = async (file: string, env: Readonly<Record<string, string>> = {}) => {
    const child = await start(new URL(`./servers/${file}`, import.meta.url), env);
    children.push(child);
    return child;
  };
  try {
    const gateway = await open('gateway.mjs');
    const env = { PROCTOR_GATEWAY_URL: gateway.url, BENCH_DATABASE: join(folder, 'memory.db') };
    const proctor = await open('proctor.mjs', env);
    const bare = { url: gateway.url.replace(/\/v1$/, '') };
    report('first token, warm session', 'ms', TARGETS.firstTokenMs, await timeFirstTokens(bare, proctor));
    const { cpuMs, ...deltas } = await timeDeltas(bare, proctor);
    report('each relayed delta', 'ms', TARGETS.deltaMs, deltas);
    console.log(`\nProcessor time of a relayed delta: ${(cpuMs * 1_000).toFixed(0)} µs`);

    const byHand = await open('by-hand.mjs', { ...env, BENCH_STREAM: '1' });
    const byHandPlain = await open('by-hand.mjs', env);
    reportThroughput(await timeTurns({ proctor, byHand, byHandPlain }));

    const processes = { ...env, BENCH_DATABASE: join(folder, 'processes.db'), BENCH_IN_PROCESSES: '1' };
    const inMemory = await timeStarts(proctor, 0);
    reportStarts(inMemory, await timeStarts(await open('proctor.mjs', processes), PAUSE_MS));
    reportIdleSessions(await weighIdleSessions(proctor));
  } finally {
    hangUp();
    await Promise.all(children.map((child) => child.stop()));
    await rm(folder, { recursive: true, force: true });
  }
}

interface Compared {
  readonly floor: readonly number[];
  readonly ours: readonly number[];
}
type Side = Pick<Child, 'url'>;

/** Milliseconds from sending a request to the first piece of its text. */
async function timeFirstTokens(bare: Side, proctor: Side): Promise<Compared> {
  const floor: number[] = [];
  const ours: number[] = [];
  const measure = async ({ url }: Side, fields: object, into: number[]) => {
    for (let sample = 0; sample < SAMPLES; sample += 1) {
      const sentAt = performance.now();
      let firstMs = Number.NaN;
      await streamedTurn(url, fields, () => {
        if (Number.isNaN(firstMs)) firstMs = performance.now() - sentAt;
      });
      into.push(firstMs);
    }
  };
  await eachRound(async (isWarm, inOrder) => {
    const id = await turn(proctor.url, { ...COUNT, model: 'word' });
    await inOrder(
      () => measure(bare, { model: 'word' }, isWarm ? floor : []),
      () => measure(proctor, { thread_id: id }, isWarm ? ours : []),
    );
    await abandon(proctor.url, id);
  });
  return { floor, ours };
}

/** Milliseconds from the gateway's writing of a delta to its arrival at the client. */
async function timeDeltas(bare: Side, proctor: Child): Promise<Compared & { readonly cpuMs: number }> {
  const floor: number[] = [];
  const ours: number[] = [];
  let cpuMs = 0;
  const measure = ({ url }: Side, fields: object, into: number[]) =>
    streamedTurn(url, fields, (content) => {
      into.push(Number(process.hrtime.bigint() - BigInt(content.slice(0, -1))) / NS_PER_MS);
    });
  await eachRound(async (isWarm, inOrder) => {
    await inOrder(
      () => measure(bare, { model: 'clock' }, isWarm ? floor : []),
      async () => {
        const before = await proctor.cpuMs();
        await measure(proctor, { ...COUNT, model: 'clock' }, isWarm ? ours : []);
        if (isWarm) cpuMs += (await proctor.cpuMs()) - before;
      },
    );
  });
  return { floor, ours, cpuMs: cpuMs / Math.max(1, ours.length) };
}

interface Rates {
  /** Turns a second, round by round. */
  readonly turns: number[];
  /** Milliseconds of the server's processor time for a turn, round by round. */
  readonly cpuMs: number[];
}

interface Throughput {
  readonly proctor: Rates;
  readonly byHand: Rates;
  readonly byHandPlain: Rates;
}

/** Plain turns of one tool call, SESSIONS at a time. */
async function timeTurns(sides: Readonly<Record<keyof Throughput, Child>>): Promise<Throughput> {
  const none = (): Rates => ({ turns: [], cpuMs: [] });
  const rates: Throughput = { proctor: none(), byHand: none(), byHandPlain: none() };
  const measure = async (name: keyof Throughput, isWarm: boolean) => {
    const { url } = sides[name];
    const ids = await Promise.all(Array.from({ length: SESSIONS }, () => turn(url, COUNT)));
    const cpuBefore = await sides[name].cpuMs();
    const startedAt = performance.now();
    await Promise.all(
      ids.map(async (thread_id) => {
        for (let played = 0; played < TURNS; played += 1) await turn(url, { thread_id });
      }),
    );
    const seconds = (performance.now() - startedAt) / 1_000;
    if (isWarm) {
      rates[name].turns.push((SESSIONS * TURNS) / seconds);
      rates[name].cpuMs.push(((await sides[name].cpuMs()) - cpuBefore) / (SESSIONS * TURNS));
    }
    await Promise.all(ids.map((id) => abandon(url, id)));
  };
  await eachRound(async (isWarm, inOrder) => {
    await inOrder(
      () => measure('byHand', isWarm),
      () => measure('proctor', isWarm),
      () => measure('byHandPlain', isWarm),
    );
  });
  return rates;
}

interface Starts {
  /** Milliseconds of the turn that starts a session, and of the one that follows. */
  readonly first: readonly number[];
  readonly next: readonly number[];
}

/** One session after the other, with a pause in which the next process can start. */
async function timeStarts({ url }: Side, pauseMs: number): Promise<Starts> {
  const first: number[] = [];
  const next: number[] = [];
  for (let sample = -2; sample < SAMPLES; sample += 1) {
    const startedAt = performance.now();
    const id = await turn(url, { ...COUNT, model: 'word' });
    const startedMs = performance.now() - startedAt;
    const nextAt = performance.now();
    await turn(url, { thread_id: id });
    const nextMs = performance.now() - nextAt;
    await abandon(url, id);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    if (sample < 0) continue;
    first.push(startedMs);
    next.push(nextMs);
  }
  return { first, next };
}

/** KiB of live heap of each session that has played one turn and waits. */
async function weighIdleSessions(server: Child): Promise<number> {
  const ids: string[] = [];
  const openSessions = async (count: number) => {
    for (let opened = 0; opened < count; opened += SESSIONS) {
      ids.push(...(await Promise.all(Array.from({ length: SESSIONS }, () => turn(server.url, COUNT)))));
    }
  };
  await openSessions(SESSIONS);
  const before = (await server.memory()).heapUsed;
  const known = ids.length;
  await openSessions(IDLE_SESSIONS);
  const after = (await server.memory()).heapUsed;
  return (after - before) / (ids.length - known) / KIB;
}

/** Longer than a process of `counter` takes to start, on a machine that has other work. */
const PAUSE_MS = 2_000;

type Work = () => Promise<unknown>;

/** Two rounds that only warm up, then ROUNDS; the order of the sides turns from round to round. */
async function eachRound(
  play: (isWarm: boolean, inOrder: (...works: readonly Work[]) => Promise<void>) => Promise<void>,
): Promise<void> {
  for (let round = -2; round < ROUNDS; round += 1) {
    await play(round >= 0, async (...works) => {
      for (const work of round % 2 === 0 ? works : [...works].reverse()) await work();
    });
  }
}

function report(name: string, unit: string, target: number, { floor, ours }: Compared): void {
  const added = median(ours) - median(floor);
  if (name.startsWith('first')) {
    console.log(`Chat: what the scenario server adds, medians over ${ROUNDS} alternating rounds`);
    console.log('| | bare gateway | through Proctor | added | target | |');
    console.log('|---|--:|--:|--:|--:|---|');
  }
  const values = [median(floor), median(ours), added].map((value) => value.toFixed(3));
  console.log(`| ${name}, ${unit} | ${values.join(' | ')} | ${target} | ${verdict(added <= target)} |`);
}

function reportThroughput({ proctor, byHand, byHandPlain }: Throughput): void {
  const ratioTo = ({ turns }: Rates) => median(proctor.turns.map((rate, round) => rate / (turns[round] ?? 0)));
  const row = (name: string, { turns, cpuMs }: Rates, beside: string) =>
    console.log(`| ${name} | ${median(turns).toFixed(0)} | ${median(cpuMs).toFixed(2)} | ${beside} |`);
  const ratio = ratioTo(byHand);
  const target = `${verdict(ratio >= TARGETS.throughput)} (at least ${TARGETS.throughput})`;
  console.log(`\nTurns of one tool call (two model calls), ${SESSIONS} sessions at a time`);
  console.log('| | turns/s | processor ms a turn | Proctor beside it |');
  console.log('|---|--:|--:|---|');
  row('Proctor, traces durable', proctor, '');
  row('by hand, streaming from the gateway, nothing kept', byHand, `× ${ratio.toFixed(2)} ${target}`);
  row('by hand, plain calls of the gateway, nothing kept', byHandPlain, `× ${ratioTo(byHandPlain).toFixed(2)}`);
}

function reportStarts(inMemory: Starts, inProcesses: Starts): void {
  const row = (name: string, { first, next }: Starts) => {
    const [one, other] = [median(first), median(next)];
    return `| ${name} | ${one.toFixed(1)} | ${other.toFixed(1)} | ${(one - other).toFixed(1)} |`;
  };
  const isFast = median(inProcesses.first) - median(inProcesses.next) <= TARGETS.startMs;
  console.log('\n| ms | first turn | next turn | start of a session | |');
  console.log('|---|--:|--:|--:|---|');
  console.log(`${row('environment in memory', inMemory)} |`);
  console.log(
    `${row('environment in a process, warm pool', inProcesses)} ${verdict(isFast)} (at most ${TARGETS.startMs}) |`,
  );
}

function reportIdleSessions(kib: number): void {
  const result = `target at most ${TARGETS.idleKib}: ${verdict(kib <= TARGETS.idleKib)}`;
  console.log(
    `\nAn idle session in memory after one turn: ${kib.toFixed(1)} KiB of live heap (${IDLE_SESSIONS} sessions); ${result}`,
  );
}

function verdict(isMet: boolean): string {
  return isMet ? 'met' : 'NOT met';
}
