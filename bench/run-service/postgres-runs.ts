import { median } from '../mcp/load.ts';
import { openStores } from './stores.ts';
import { CONCURRENCY, COUNTER, type Measured, RUNS, timeRuns } from './time-runs.ts';

const ROUNDS = Number(process.env.BENCH_REPETITIONS ?? 3);
const TARGET = 0.5;

/** Complete runs in memory on Postgres beside the same on SQLite, which take turns: one worker, every event durable. */
export async function run(): Promise<void> {
  const stores = await openStores();
  console.log(`\n${RUNS} runs of counter in memory, ${CONCURRENCY} at once, medians of ${ROUNDS} alternating rounds`);
  console.log('| | runs/s | processor ms of the worker for each | beside SQLite | target |');
  console.log('|---|--:|--:|--:|---|');
  try {
    const rounds: { readonly sqlite: Measured; readonly postgres: Measured }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const sqlite = await timeRuns(COUNTER, 'memory', 'SQLite', stores);
      rounds.push({ sqlite, postgres: await timeRuns(COUNTER, 'memory', 'Postgres', stores) });
    }
    const ratio = median(rounds.map(({ sqlite, postgres }) => postgres.perSecond / sqlite.perSecond));
    const verdict = ratio >= TARGET ? 'met' : 'NOT met';
    print(
      'SQLite',
      rounds.map(({ sqlite }) => sqlite),
      '|',
    );
    print(
      'Postgres',
      rounds.map(({ postgres }) => postgres),
      `× ${ratio.toFixed(2)} | ${TARGET}: ${verdict}`,
    );
  } finally {
    await stores.close();
  }
}

function print(name: string, rounds: readonly Measured[], rest: string): void {
  const perSecond = median(rounds.map((each) => each.perSecond));
  const workerMs = median(rounds.map((each) => each.workerMs));
  console.log(`| ${name} | ${perSecond.toFixed(0)} | ${workerMs.toFixed(2)} | ${rest} |`);
}
