import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAccounts } from '../../src/store/accounts/database-accounts.ts';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { start } from '../child.ts';
import { acceptRun } from './accept-run.ts';
import { countUnfinished } from './count-unfinished.ts';
import { openStores } from './stores.ts';

const RUNS = Number(process.env.BENCH_RUNS ?? 50_000);
const PER_ROUND = 5_000;
const IN_FLIGHT = 16;
const MIB = 1_024 * 1_024;
/** What the live heap may have grown by, in MiB, from the first round on: caches fill up to their limits. */
const TARGET_MIB = 2;

/**
 * The live heap of a server that accepts and executes run after run of `counter` in memory, on a SQLite file. The first
 * round is what is made once.
 */
export async function run(): Promise<void> {
  const stores = await openStores();
  const { databaseUrl } = await stores.create('SQLite');
  const env = { BENCH_ROLE: 'both', BENCH_DATABASE_URL: databaseUrl, BENCH_QUEUE_URL: '' };
  const server = await start(new URL('./servers/service.mjs', import.meta.url), env);
  const database = await openDatabase(databaseUrl);
  const accounts = createAccounts(database);
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT });
  const heaps: number[] = [];
  try {
    console.log(`Memory of a server over ${RUNS.toLocaleString('en')} runs that it accepts and executes`);
    console.log('| runs | live heap, MiB | resident, MiB |');
    console.log('|--:|--:|--:|');
    for (let runs = PER_ROUND; runs <= RUNS; runs += PER_ROUND) {
      const { key } = await accounts.createKey({ name: `after-${runs}` }); // one may have 10,000 queued
      let left = PER_ROUND;
      const client = async () => {
        while (left-- > 0) await acceptRun(server.url, key, agent);
      };
      await Promise.all(Array.from({ length: IN_FLIGHT }, client));
      while ((await countUnfinished(database)) > 0) await sleep(200);
      const { heapUsed, rss } = await server.memory();
      heaps.push(heapUsed / MIB);
      console.log(`| ${runs.toLocaleString('en')} | ${(heapUsed / MIB).toFixed(1)} | ${(rss / MIB).toFixed(0)} |`);
    }
    const grownMib = (heaps.at(-1) ?? Number.NaN) - (heaps[0] ?? Number.NaN);
    const verdict = grownMib <= TARGET_MIB ? 'met' : 'NOT met';
    console.log(`grown by ${grownMib.toFixed(1)} MiB since the first round; target at most ${TARGET_MIB}: ${verdict}`);
  } finally {
    agent.destroy();
    await server.stop();
    await database.close();
    await stores.close();
  }
}
