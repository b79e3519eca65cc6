import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccounts, openDatabase } from 'proctor/run-service';
import { type Child, start } from '../child.ts';
import { median } from '../mcp/load.ts';
import { openSeat, type Seat, WIRES, type Wire } from './agent-client.ts';
import { playAtOnce } from './at-once.ts';

const ROUNDS = Number(process.env.BENCH_REPETITIONS ?? 9);
/** First tokens on each side of a round. */
const SAMPLES = 20;
const AGENTS = Number(process.env.BENCH_AGENTS ?? 250);
const NS_PER_MS = 1e6;
/** Milliseconds that a seat may add: where the gateway speaks the protocol of the agent, and where it does not. */
const TARGETS = { relayed: { first: 3, delta: 0.2 }, translated: { first: 4, delta: 0.3 } } as const;

/**
 * What the model addresses of a seat add to the first token and to each delta of a gateway, in each protocol, and many
 * agents at once. Gateway and service are processes of their own, over real sockets; the sides of a round follow each
 * other in alternating order. Every step is written to SQLite, durably.
 */
export async function run(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-bench-'));
  const children: Child[] = [];
  const open = async (file: string, env: Readonly<Record<string, string>> = {}) => {
    const child = await start(new URL(file, import.meta.url), env);
    children.push(child);
    return child;
  };
  try {
    const gateway = await open('../scenario-server/servers/gateway.mjs');
    const databaseUrl = `sqlite:${join(folder, 'seats.db')}`;
    const env = { BENCH_ROLE: 'serve', BENCH_DATABASE_URL: databaseUrl, PROCTOR_GATEWAY_URL: gateway.url };
    const service = await open('../run-service/servers/service.mjs', env);
    const database = await openDatabase(databaseUrl);
    const { key } = await createAccounts(database).createKey({ name: 'bench' });
    await database.close();
    const target = { url: service.url, key };
    console.log(`Seats: what a model address adds, medians over ${ROUNDS} alternating rounds; load ${load()}`);
    console.log('| | | bare gateway | through the seat | added | target | |');
    console.log('|---|---|--:|--:|--:|--:|---|');
    for (const wire of WIRES) await compare(wire, new URL(gateway.url).origin, target);
    console.log(`\nload ${load()}`);
    await playAtOnce(AGENTS, target);
    console.log(`load ${load()}`);
  } finally {
    await Promise.all(children.map((child) => child.stop()));
    await rm(folder, { recursive: true, force: true });
  }
}

interface Service {
  readonly url: string;
  readonly key: string;
}

async function compare(wire: Wire, gatewayUrl: string, service: Service): Promise<void> {
  const bare = WIRES[0];
  const first: Compared = { floor: [], ours: [] };
  const deltas: Compared = { floor: [], ours: [] };
  for (let round = -2; round < ROUNDS; round += 1) {
    const isWarm = round >= 0;
    const seats = await Promise.all(['word', 'clock'].map((model) => openSeat(service, model)));
    const [word, clock] = seats as [Seat, Seat];
    const sides = [
      async () => {
        await timeFirst(bare, { origin: gatewayUrl, secret: 'none' }, isWarm ? first.floor : []);
        await timeDeltas(bare, { origin: gatewayUrl, secret: 'none' }, isWarm ? deltas.floor : []);
      },
      async () => {
        await timeFirst(wire, word, isWarm ? first.ours : []);
        await timeDeltas(wire, clock, isWarm ? deltas.ours : []);
      },
    ];
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) await side();
    await Promise.all(seats.map((seat) => seat.end()));
  }
  const target = wire.isRelayed ? TARGETS.relayed : TARGETS.translated;
  report(wire.name, 'first token, ms', target.first, first);
  report('', 'each delta, ms', target.delta, deltas);
}

interface Compared {
  readonly floor: number[];
  readonly ours: number[];
}

type Side = Pick<Seat, 'origin' | 'secret'>;

/** Milliseconds from sending a request to the first piece of its text. */
async function timeFirst(wire: Wire, side: Side, into: number[]): Promise<void> {
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const sentAt = performance.now();
    let firstMs = Number.NaN;
    await wire.ask(side, 'word', (text) => {
      if (Number.isNaN(firstMs) && text.includes('Done')) firstMs = performance.now() - sentAt;
    });
    into.push(firstMs);
  }
}

/** Milliseconds from the gateway's writing of a delta to its arrival at the client. */
async function timeDeltas(wire: Wire, side: Side, into: number[]): Promise<void> {
  await wire.ask(side, 'clock', (text) => {
    const now = process.hrtime.bigint();
    // The end of some protocols says all of the text again.
    const times = [...text.matchAll(/"(\d{10,});"/g)].map(([, time]) => BigInt(time ?? 0));
    for (const time of times) into.push(Number(now - time) / NS_PER_MS);
  });
}

function report(name: string, what: string, target: number, { floor, ours }: Compared): void {
  const added = median(ours) - median(floor);
  const values = [median(floor), median(ours), added].map((value) => value.toFixed(3));
  console.log(`| ${name} | ${what} | ${values.join(' | ')} | ${target} | ${added <= target ? 'met' : 'MISSED'} |`);
}

function load(): string {
  return loadavg()
    .map((each) => each.toFixed(1))
    .join(' ');
}
