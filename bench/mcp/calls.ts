import { execFileSync } from 'node:child_process';
import { open } from './connection.ts';
import { type Level, load, median, medianLevel, warmUp } from './load.ts';
import { FROM_TYPESCRIPT, TARGETS, type Target } from './targets.ts';

const REPETITIONS = Number(process.env.BENCH_REPETITIONS ?? 5);
const LEVEL_MS = 1_500;
/** Of each target alike. */
const WARM_UP_CALLS = 6_000;
const COLD_STARTS = 9;

interface Samples {
  readonly one: Level[];
  readonly many: Level[];
  readonly cold: number[];
}

/**
 * Tool calls over MCP: processor time of the server and calls a second at 1 and at 32 in flight, beside the SDK alone, its
 * stock HTTP transport, FastMCP and a floor without a protocol. Every target is a process of its own; the targets of one
 * repetition follow each other, in alternating order.
 */
export async function run(): Promise<void> {
  execFileSync(process.execPath, ['scripts/referees.mjs'], { stdio: 'inherit' });
  const samples = new Map<Target, Samples>(TARGETS.map((target) => [target, { one: [], many: [], cold: [] }]));
  for (let repetition = 0; repetition < REPETITIONS; repetition += 1) {
    const order = repetition % 2 === 0 ? TARGETS : [...TARGETS].reverse();
    for (const target of order) await measure(target, samples.get(target));
  }
  const typescript: number[] = [];
  for (let start = 0; start < COLD_STARTS; start += 1) {
    for (const [target, { cold }] of samples) if (target.protocol !== 'none') cold.push(await coldStart(target));
    typescript.push(await coldStart(FROM_TYPESCRIPT));
  }
  print(samples, median(typescript));
}

async function measure(target: Target, samples: Samples | undefined): Promise<void> {
  const connection = await open(target);
  try {
    await warmUp(connection, 8, WARM_UP_CALLS);
    samples?.one.push(await load(connection, 1, LEVEL_MS));
    samples?.many.push(await load(connection, 32, LEVEL_MS));
  } finally {
    await connection.close();
  }
}

async function coldStart(target: Target): Promise<number> {
  const connection = await open(target);
  await connection.close();
  return connection.coldMs;
}

function print(samples: ReadonlyMap<Target, Samples>, typescriptMs: number): void {
  console.log(
    `Tool calls over MCP, medians of ${REPETITIONS} interleaved repetitions of ${LEVEL_MS / 1_000} s a level`,
  );
  console.log(
    '| target | cold start ms | calls/s, 1 | p50/p99 ms | calls/s, 32 | p50/p99 ms | server µs a call, 1 / 32 |',
  );
  console.log('|---|--:|--:|--:|--:|--:|--:|');
  const medians = new Map(
    [...samples].map(([target, { one, many }]) => [target.name, [medianLevel(one), medianLevel(many)] as const]),
  );
  for (const [target, { cold }] of samples) {
    const [one, many] = medians.get(target.name) ?? [];
    if (one === undefined || many === undefined) continue;
    const coldMs = cold.length === 0 ? '' : median(cold).toFixed(0);
    const row = [
      target.name,
      coldMs,
      rate(one),
      latency(one),
      rate(many),
      latency(many),
      `${one.cpuUs.toFixed(0)} / ${many.cpuUs.toFixed(0)}`,
    ];
    console.log(`| ${row.join(' | ')} |`);
  }
  console.log(`Cold start from TypeScript (node --import tsx): ${typescriptMs.toFixed(0)} ms`);
  console.log('| 1 / 32 in flight | calls a second | target | p99 | processor time |');
  console.log('|---|--:|--:|--:|--:|');
  for (const [name, ours, other, target] of COMPARED) {
    const [a1, a32] = medians.get(ours) ?? [];
    const [b1, b32] = medians.get(other) ?? [];
    if (!a1 || !a32 || !b1 || !b32) continue;
    const times = (of: (level: Level) => number) =>
      `× ${(of(a1) / of(b1)).toFixed(2)} / ${(of(a32) / of(b32)).toFixed(2)}`;
    const ratios = [times((level) => level.callsPerSecond), target, times((level) => level.p99Ms)];
    console.log(`| ${[name, ...ratios, times((level) => level.cpuUs)].join(' | ')} |`);
  }
}

const COMPARED = [
  ['stdio beside the SDK', 'Proctor, stdio', 'SDK v2, stdio', 'time 1.15'],
  ['stdio 2026-07-28 beside the SDK', 'Proctor, stdio 2026-07-28', 'SDK v2, stdio 2026-07-28', ''],
  ['stdio beside FastMCP', 'Proctor, stdio', 'FastMCP, stdio', 'time 1'],
  ['HTTP sessions beside the stock transport', 'Proctor, HTTP session', 'SDK v2 stock, HTTP session', '2.3 / 4'],
  ['HTTP 2026-07-28 beside the stock handler', 'Proctor, HTTP 2026-07-28', 'SDK v2 stock, HTTP 2026-07-28', '2'],
  ['HTTP sessions beside the bare core', 'Proctor, HTTP session', 'SDK v2 core, bare HTTP', ''],
  ['HTTP sessions beside FastMCP', 'Proctor, HTTP session', 'FastMCP, HTTP session', 'time 1'],
] as const;

const rate = ({ callsPerSecond }: Level) => Math.round(callsPerSecond).toLocaleString('en');
const latency = ({ p50Ms, p99Ms }: Level) => `${p50Ms.toFixed(3)} / ${p99Ms.toFixed(2)}`;
