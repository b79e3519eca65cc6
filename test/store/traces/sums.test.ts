import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import type { TraceFilters } from '../../../src/store/traces/rows/trace-filters.ts';
import type { NewTrace, TraceStore } from '../../../src/store/traces/trace-store.ts';
import { emptyTables, sharedPostgres } from '../../postgres.ts';
import { finished, newTrace, responded, started } from './events.ts';
import { APP_URL } from './store-contract.ts';

const DAY_MS = 86_400_000;
const START = Date.parse('2026-01-10T00:00:00.000Z');
const REWARDS = [0, 1, 0.3, 0.1 + 0.2, 0.29999999999999993, 0.7, 0.5, 0.999, -0.25, 1.5, 0.05, null] as const;

interface Opened {
  readonly database: Database;
  readonly store: TraceStore;
  readonly clock: { now: number };
}

function opened(database: Database): Opened {
  const clock = { now: START };
  return { database, clock, store: createTraceStore(database, { appUrl: APP_URL, now: () => clock.now }) };
}

async function openedAt(url: string): Promise<Opened> {
  const database = await openDatabase(url);
  onTestFinished(() => database.close());
  return opened(database);
}

let onPostgres: Promise<Database> | undefined;

const DATABASES: Readonly<Record<string, () => Promise<Opened>>> = {
  async SQLite() {
    const folder = mkdtempSync(join(tmpdir(), 'proctor-sums-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    return await openedAt(`sqlite:${join(folder, 'proctor.db')}`);
  },
  async 'SQLite in memory'() {
    return await openedAt('sqlite::memory:');
  },
  async Postgres() {
    onPostgres ??= sharedPostgres().then(async (server) => await openDatabase(await server.createDatabase()));
    const database = await onPostgres;
    onTestFinished(() => emptyTables(database));
    return opened(database);
  },
};

afterAll(async () => await (await onPostgres)?.close());

async function add(
  { store, clock }: Opened,
  reward: number | null,
  { queued = {}, account = 'local', keyId = null as string | null } = {} as {
    queued?: Partial<NewTrace['queued']>;
    account?: string;
    keyId?: string | null;
  },
): Promise<string> {
  const trace = newTrace(queued, { account });
  const { traceId } = trace;
  await store.create({ ...trace, keyId });
  const createdAt = clock.now;
  clock.now += 500;
  await store.append(traceId, 1, [started, responded(1)]);
  const end = reward === null ? finished(null, { status: 'failed', stop_reason: 'error' }) : finished(reward);
  await store.append(traceId, 1, [end]);
  clock.now = createdAt;
  return traceId;
}

/** A trace of each kind on each of some days, and some of an account beside. */
async function addMany(to: Opened): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < 48; index++) {
    to.clock.now = START + Math.floor((index / 48) * 4 * DAY_MS);
    const queued: Partial<NewTrace['queued']> = {
      env_name: index % 3 === 0 ? 'retail' : 'counter',
      scenario_name: index % 4 === 0 ? 'task' : 'count_to',
      model: index % 5 === 0 ? 'gpt' : 'proctor/oracle',
      origin: index % 7 === 0 ? 'chat' : 'run',
      metadata: { team: index % 2 === 0 ? 'a' : 'b', suite: 'all' },
    };
    const account = index % 11 === 0 ? 'acme' : 'local';
    const keyId = index % 2 === 0 ? 'key_1' : null;
    ids.push(await add(to, REWARDS[index % REWARDS.length] ?? null, { queued, account, keyId }));
  }
  return ids;
}

const FILTERS: readonly TraceFilters[] = [
  {},
  { account: 'acme' },
  { envName: 'retail' },
  { scenarioName: 'task' },
  { model: 'gpt' },
  { origin: 'chat' },
  { status: 'failed' },
  { status: 'queued' },
  { metadata: { team: 'a' } },
  { metadata: { team: 'a' }, minReward: 0.5, until: START + 2.5 * DAY_MS },
  { metadata: { team: 'a' }, status: 'completed' },
  { metadata: { team: 'a', suite: 'all' } },
  { metadata: { team: 'a' }, model: 'gpt' },
  { metadata: { team: 'c' } },
  { envName: 'retail', model: 'gpt' },
  { envName: 'counter', scenarioName: 'task', origin: 'run', status: 'completed' },
  ...[0, 0.05, 0.3, 0.29999999999999993, 0.45, 0.5, 1, 1.5, -0.25, 2].flatMap((at) => [
    { minReward: at },
    { maxReward: at },
  ]),
  { minReward: 0.3, maxReward: 0.7, envName: 'counter' },
  { minReward: 0.7, maxReward: 0.3 },
  { since: START + DAY_MS, until: START + 3 * DAY_MS - 1 },
  { since: START + DAY_MS / 2, until: START + 2.25 * DAY_MS },
  { since: START + DAY_MS + 1, until: START + DAY_MS + 7_200_000 },
  { since: START + 5 * DAY_MS },
  { until: START + 1.5 * DAY_MS, minReward: 0.4, model: 'proctor/oracle' },
  { since: START + DAY_MS, metadata: { team: 'b' } },
];
const QUERIES: readonly TraceFilters[] = FILTERS.map((query) => ({ account: 'local', ...query }));

async function allSums({ store }: Opened) {
  const summaries = [];
  for (const query of [...QUERIES, {}, { envName: 'retail', since: START + DAY_MS / 2 }]) {
    const { mean_reward, ...summary } = await store.summary(query);
    summaries.push({ ...summary, mean_reward: mean_reward === null ? null : Number(mean_reward.toFixed(12)) });
  }
  const usage = [];
  for (const groupBy of [undefined, 'day', 'model', 'env', 'key'] as const) {
    for (const time of [{}, { since: START + DAY_MS / 2, until: START + 2.25 * DAY_MS }]) {
      usage.push(await store.usage({ account: 'local', ...time, ...(groupBy === undefined ? {} : { groupBy }) }));
    }
  }
  return { summaries, usage };
}

for (const [name, open] of Object.entries(DATABASES)) {
  describe(`the sums over traces on ${name}`, () => {
    it('count the traces that a list with the same filters has', async () => {
      const to = await open();
      await addMany(to);
      const { summaries, usage } = await allSums(to);
      for (const [index, query] of QUERIES.entries()) {
        const { data } = await to.store.list({ ...query, limit: 100 });
        expect(summaries[index]?.count, JSON.stringify(query)).toBe(data.length);
        const rewards = data.flatMap(({ reward }) => (reward === null ? [] : [reward]));
        const mean = rewards.reduce((total, reward) => total + reward, 0) / rewards.length;
        expect(summaries[index]?.mean_reward, JSON.stringify(query)).toBe(
          rewards.length === 0 ? null : Number(mean.toFixed(12)),
        );
      }
      await addMany(to); // the same once more
      const doubled = await allSums(to);
      expect(doubled.summaries.map(({ count }) => count)).toEqual(summaries.map(({ count }) => 2 * count));
      expect(doubled.usage.map((rows) => rows.map(({ runs }) => runs))).toEqual(
        usage.map((rows) => rows.map(({ runs }) => 2 * runs)),
      );
    });

    it('leave out deleted traces, and usage keeps what those have used', async () => {
      const to = await open();
      const first = await addMany(to);
      const before = await allSums(to);
      const more = await addMany(to);
      const { usage } = await allSums(to);
      for (const traceId of more) expect(await to.store.remove(traceId)).toBe(true);
      expect(await allSums(to)).toEqual({ summaries: before.summaries, usage });
      for (const traceId of first) await to.store.remove(traceId);
      expect(await to.store.summary({})).toMatchObject({ count: 0, mean_reward: null, tokens: { total: 0 } });
      expect((await allSums(to)).usage).toEqual(usage);
    });

    it('do not lose a reward to a huge one that is deleted', async () => {
      const to = await open();
      await add(to, 2);
      const huge = await add(to, 1e300);
      expect(await to.store.summary({})).toMatchObject({ count: 2, mean_reward: 5e299, pass_rate: 1 });
      await to.store.remove(huge);
      expect(await to.store.summary({})).toMatchObject({ count: 1, mean_reward: 2 });
    });

    it('are exact after traces ended and went at the same time', async () => {
      const to = await open();
      const gone = await addMany(to);
      await Promise.all([
        ...Array.from({ length: 40 }, (_, index) => add(to, REWARDS[index % 5] ?? 0)),
        ...gone.map((traceId) => to.store.remove(traceId)),
      ]);
      expect(await to.store.summary({})).toMatchObject({ count: 40, by_status: { completed: 40 } });
    });
  });
}
