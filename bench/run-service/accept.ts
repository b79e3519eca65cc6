import { Agent } from 'node:http';
import { createAccounts } from '../../src/store/accounts/database-accounts.ts';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { type Child, start } from '../child.ts';
import { median } from '../mcp/load.ts';
import { acceptRun } from './accept-run.ts';
import { openStores, type StoreName } from './stores.ts';

const ROUNDS = Number(process.env.BENCH_REPETITIONS ?? 5);
const ROUND_MS = 3_000;
const IN_FLIGHT = 32;
const P99_LIMIT_MS = 50;
const TARGETS: Readonly<Record<StoreName, number>> = {
  SQLite: 1_000,
  Postgres: 500,
  'Postgres + BullMQ on Redis': 500,
};

/** What one round of requests gave. */
interface Round {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of the server, milliseconds a request. */
  readonly cpuMs: number;
}

/**
 * Runs accepted each second over HTTP, each of them durable with its row, first event and queue entry, by a server that
 * executes none; beside express that parses the same request and answers. Then half of the target, sent by a clock
 * whether answers have come or not, for its latency. A key for each round, as one may have 10,000 queued.
 */
export async function run(): Promise<void> {
  const stores = await openStores();
  const floor = await start(new URL('./servers/express.mjs', import.meta.url));
  try {
    console.log(`POST /v1/agent/run, ${IN_FLIGHT} in flight, medians of ${ROUNDS} rounds of ${ROUND_MS / 1_000} s`);
    console.log(
      '| | accepted/s | beside express | p99, ms | processor ms each | at half of the target: p50, ms | p99, ms | target | |',
    );
    console.log('|---|--:|--:|--:|--:|--:|--:|--:|---|');
    const floors = [await full(floor, 'none'), await full(floor, 'none'), await full(floor, 'none')];
    const floorRate = median(floors.map(({ perSecond }) => perSecond));
    console.log(
      `| express, nothing kept | ${floorRate.toFixed(0)} | | ${toMedian(floors, 'p99Ms').toFixed(1)} | ${toMedian(floors, 'cpuMs').toFixed(2)} | | | | |`,
    );
    for (const name of stores.names) await measure(name, await stores.create(name), floorRate);
  } finally {
    await floor.stop();
    await stores.close();
  }
}

async function measure(
  name: StoreName,
  { databaseUrl, queueUrl }: { readonly databaseUrl: string; readonly queueUrl: string },
  floorRate: number,
): Promise<void> {
  const env = { BENCH_ROLE: 'serve', BENCH_DATABASE_URL: databaseUrl, BENCH_QUEUE_URL: queueUrl };
  const server = await start(new URL('./servers/service.mjs', import.meta.url), env);
  const database = await openDatabase(databaseUrl);
  try {
    const accounts = createAccounts(database);
    const target = TARGETS[name];
    let keys = 0;
    const newKey = async () => (await accounts.createKey({ name: `round-${++keys}` })).key;
    await full(server, await newKey()); // the catalogue is read, the code is warm
    const fulls: Round[] = [];
    for (let round = 0; round < ROUNDS; round += 1) fulls.push(await full(server, await newKey()));
    const rate = toMedian(fulls, 'perSecond');
    const halves: Round[] = [];
    for (let round = 0; round < ROUNDS; round += 1) halves.push(await paced(server, await newKey(), target / 2));
    const isMet = rate >= target && toMedian(halves, 'p99Ms') < P99_LIMIT_MS;
    const cells = [
      rate.toFixed(0),
      `× ${(rate / floorRate).toFixed(2)}`,
      toMedian(fulls, 'p99Ms').toFixed(1),
      toMedian(fulls, 'cpuMs').toFixed(2),
      toMedian(halves, 'p50Ms').toFixed(1),
      toMedian(halves, 'p99Ms').toFixed(1),
      `${target}/s, ${P99_LIMIT_MS} ms`,
      isMet ? 'met' : 'NOT met',
    ];
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  } finally {
    await server.stop();
    await database.close();
  }
}

/** As fast as IN_FLIGHT clients go that wait for their answers. */
async function full(server: Child, key: string): Promise<Round> {
  return await measured(server, key, async (post) => {
    const endsAt = performance.now() + ROUND_MS;
    const client = async () => {
      while (performance.now() < endsAt) await post();
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, client));
  });
}

/** So many each second, sent when they are due: one that is answered late does not hold back the next. */
async function paced(server: Child, key: string, perSecond: number): Promise<Round> {
  return await measured(server, key, async (post) => {
    const startedAt = performance.now();
    const sent: Promise<void>[] = [];
    for (;;) {
      const elapsedMs = performance.now() - startedAt;
      if (elapsedMs >= ROUND_MS) break;
      for (const due = (elapsedMs / 1_000) * perSecond; sent.length < due; ) sent.push(post());
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await Promise.all(sent);
  });
}

async function measured(
  server: Child,
  key: string,
  play: (post: () => Promise<void>) => Promise<void>,
): Promise<Round> {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const latencies: number[] = [];
  const post = async () => {
    const sentAt = performance.now();
    await acceptRun(server.url, key, agent);
    latencies.push(performance.now() - sentAt);
  };
  const cpuBefore = await server.cpuMs();
  const startedAt = performance.now();
  await play(post);
  const seconds = (performance.now() - startedAt) / 1_000;
  const cpuMs = ((await server.cpuMs()) - cpuBefore) / latencies.length;
  agent.destroy();
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  return { perSecond: latencies.length / seconds, p50Ms: at(0.5), p99Ms: at(0.99), cpuMs };
}

function toMedian(rounds: readonly Round[], field: keyof Round): number {
  return median(rounds.map((round) => round[field]));
}
