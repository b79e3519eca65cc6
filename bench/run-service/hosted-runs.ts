import { median } from '../mcp/load.ts';
import { openStores, type StoreName } from './stores.ts';
import { CONCURRENCY, COUNTER, type Measured, type Play, RETAIL, RUNS, timeRuns } from './time-runs.ts';

const ROUNDS = Number(process.env.BENCH_REPETITIONS ?? 3);
const TARGET = 0.6;
const PLAYS: readonly Play[] = [COUNTER, RETAIL];

/**
 * Complete runs in shared processes beside the same runs in memory: one worker, the solution plays, every event durable.
 * The two take turns. `BENCH_ENVIRONMENTS=retail` and `BENCH_STORE=Postgres` for others.
 */
export async function run(): Promise<void> {
  const named = process.env.BENCH_ENVIRONMENTS?.split(',');
  const store = (process.env.BENCH_STORE ?? 'SQLite') as StoreName;
  const stores = await openStores();
  console.log(
    `\n${RUNS} runs on ${store}, ${CONCURRENCY} at once in one worker, medians of ${ROUNDS} alternating rounds`,
  );
  console.log('| | in memory/s | ms of processor | in hosts/s | ms, worker | ms, hosts | beside memory | target |');
  console.log('|---|--:|--:|--:|--:|--:|--:|---|');
  try {
    for (const play of PLAYS.filter(({ environment }) => named?.includes(environment) ?? true)) {
      const rounds: { readonly memory: Measured; readonly hosts: Measured }[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        rounds.push({
          memory: await timeRuns(play, 'memory', store, stores),
          hosts: await timeRuns(play, 'hosts', store, stores),
        });
      }
      print(play, rounds);
    }
  } finally {
    await stores.close();
  }
}

function print(
  { environment }: Play,
  rounds: readonly { readonly memory: Measured; readonly hosts: Measured }[],
): void {
  const of = (read: (round: { memory: Measured; hosts: Measured }) => number) => median(rounds.map(read));
  const ratio = of(({ memory, hosts }) => hosts.perSecond / memory.perSecond);
  const cells = [
    environment,
    of(({ memory }) => memory.perSecond).toFixed(0),
    of(({ memory }) => memory.workerMs).toFixed(2),
    of(({ hosts }) => hosts.perSecond).toFixed(0),
    of(({ hosts }) => hosts.workerMs).toFixed(2),
    of(({ hosts }) => hosts.hostsMs).toFixed(2),
    `× ${ratio.toFixed(2)}`,
    `${TARGET}: ${ratio >= TARGET ? 'met' : 'NOT met'}`,
  ];
  console.log(`| ${cells.join(' | ')} |`);
}
