import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { traceTotalsSchema, usageListSchema } from '../../../src/contract/service/totals.ts';
import type { NewTrace, TraceStore } from '../../../src/store/traces/trace-store.ts';
import { finished, newTrace, responded, started } from './events.ts';
import type { StoreUnderTest } from './store-contract.ts';

const DAY_MS = 86_400_000;

/** What every trace store promises about summaries, usage and deletion. */
export function describeTraceTotals(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`the totals of the trace store on ${name}`, () => {
    let opened: StoreUnderTest;
    let store: TraceStore;

    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });
    afterEach(async () => opened.close());

    interface Added {
      readonly account?: string;
      readonly keyId?: string;
      /** Undefined: it is not finished; null: it failed. */
      readonly reward?: number | null;
      readonly calls?: number;
    }

    /** A trace 10 ms after the one before, whose run took a second of which it waited a tenth. */
    async function add(queued: Partial<NewTrace['queued']> = {}, added: Added = {}): Promise<string> {
      const { account = 'local', keyId, reward, calls = 1 } = added;
      const trace = { ...newTrace(queued, { account }), ...(keyId === undefined ? {} : { keyId }) };
      opened.clock.now += 10;
      await store.create(trace);
      if (reward === undefined) return trace.traceId;
      const createdAt = opened.clock.now;
      opened.clock.now += 100;
      await store.append(trace.traceId, 1, [started, ...Array.from({ length: calls }, (_, at) => responded(at + 1))]);
      opened.clock.now += 900;
      const end = reward === null ? finished(null, { status: 'failed', stop_reason: 'error' }) : finished(reward);
      await store.append(trace.traceId, 1, [end]);
      opened.clock.now = createdAt;
      return trace.traceId;
    }

    describe('a summary', () => {
      it('of nothing has no mean and no rate', async () => {
        expect(await store.summary({})).toEqual({
          object: 'summary',
          count: 0,
          by_status: { queued: 0, running: 0, completed: 0, failed: 0, cancelled: 0 },
          with_reward: 0,
          mean_reward: null,
          pass_rate: null,
          histogram: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
          tokens: { prompt: 0, completion: 0, total: 0 },
        });
      });

      it('counts by status, and by tenth of the reward; passed is a reward of 1 or more', async () => {
        for (const reward of [0, 0.05, 0.1, 0.3, 0.95, 1, 1.5, -2]) await add({}, { reward });
        await add({}, { reward: null });
        await add();
        const running = await add();
        await store.append(running, 1, [started]);
        const summary = await store.summary({ account: 'local' });
        expect(traceTotalsSchema.parse(summary)).toEqual(summary);
        expect(summary).toMatchObject({
          count: 11,
          by_status: { queued: 1, running: 1, completed: 8, failed: 1, cancelled: 0 },
          histogram: [3, 1, 0, 1, 0, 0, 0, 0, 0, 3],
          with_reward: 8,
          pass_rate: 0.25,
          tokens: { prompt: 900, completion: 90, total: 990 },
        });
        expect(summary.mean_reward).toBeCloseTo(1.9 / 8);
      });

      it('takes the filters of a list, each and together', async () => {
        await add({}, { reward: 0.5 });
        await add({ env_name: 'retail' }, { reward: 0.5 });
        await add({ scenario_name: 'task' }, { reward: 0.5 });
        await add({ model: "it's" }, { reward: 1 });
        await add({ origin: 'chat' }, { reward: 1 });
        await add({ metadata: { team: 'a', 'a.b': '%' } }, { reward: 1 });
        await add({}, { reward: 0.5, account: 'acme' });
        await add({ env_name: 'retail', metadata: { team: 'a' } });
        const first = Date.parse('2026-01-01T00:00:00.010Z');
        const count = async (filters: Parameters<TraceStore['summary']>[0]) => {
          const { data } = await store.list({ ...filters, limit: 100 });
          const summary = await store.summary(filters);
          expect(summary.count).toBe(data.length); // The list is the referee.
          return summary.count;
        };
        expect(await count({})).toBe(8);
        expect(await count({ account: 'acme' })).toBe(1);
        expect(await count({ envName: 'retail' })).toBe(2);
        expect(await count({ envName: 'retail', status: 'queued' })).toBe(1);
        expect(await count({ status: 'completed' })).toBe(7);
        expect(await count({ scenarioName: 'task' })).toBe(1);
        expect(await count({ model: "it's" })).toBe(1);
        expect(await count({ origin: 'chat' })).toBe(1);
        expect(await count({ minReward: 0.75 })).toBe(3);
        expect(await count({ maxReward: 0.75 })).toBe(4);
        expect(await count({ metadata: { team: 'a' } })).toBe(2);
        expect(await count({ metadata: { team: 'a', 'a.b': '%' } })).toBe(1);
        expect(await count({ since: first, until: first + 20 })).toBe(3);
        expect(await count({ account: 'local', envName: 'counter', status: 'completed', minReward: 1 })).toBe(3);
      });

      it('is split by environment, scenario, model or origin, of the same filters, the most runs first', async () => {
        for (const reward of [1, 1, 0]) await add({ model: 'proctor/oracle' }, { reward });
        for (const reward of [0, 0.5]) await add({ model: 'gpt', env_name: 'retail' }, { reward });
        await add({ model: 'gpt', env_name: 'retail', metadata: { team: 'a' } }, { reward: null });
        await add({ model: 'gpt', env_name: 'retail', origin: 'chat', scenario_name: 'task' });
        await add({ model: 'dead' }, { reward: null });
        await add({ model: 'other' }, { reward: 1, account: 'acme' });
        await store.remove(await add({ model: 'gone' }, { reward: 1 }));
        const whole = await store.summary({ account: 'local' });
        expect(whole).not.toHaveProperty('groups');
        const by = async (groupBy: 'env' | 'scenario' | 'model' | 'origin', filters = {}) => {
          const summary = await store.summary({ account: 'local', ...filters }, { groupBy });
          expect(traceTotalsSchema.parse(summary)).toEqual(summary);
          const { groups, ...rest } = summary;
          expect(rest).toEqual(await store.summary({ account: 'local', ...filters }));
          return groups?.map((each) => [each.group, each.count, each.with_reward, each.mean_reward, each.pass_rate]);
        };
        expect(await by('model')).toEqual([
          ['gpt', 4, 2, 0.25, 0],
          ['proctor/oracle', 3, 3, 2 / 3, 2 / 3],
          ['dead', 1, 0, null, null],
        ]);
        expect(await by('model', { envName: 'counter', scenarioName: 'count_to' })).toEqual([
          ['proctor/oracle', 3, 3, 2 / 3, 2 / 3],
          ['dead', 1, 0, null, null],
        ]);
        expect((await by('env', { model: 'gpt' }))?.map(([group]) => group)).toEqual(['retail']);
        expect((await by('scenario'))?.map(([group]) => group)).toEqual(['count_to', 'task']);
        expect((await by('origin'))?.map(([group]) => group)).toEqual(['run', 'chat']);
        expect((await by('model', { metadata: { team: 'a' } }))?.map(([group]) => group)).toEqual(['gpt']);
        expect((await by('model', { minReward: 1 }))?.map(([group]) => group)).toEqual(['proctor/oracle']);
      });

      it('forgets a deleted trace', async () => {
        const [gone] = [await add({}, { reward: 1 }), await add({}, { reward: 0 })];
        await store.remove(gone);
        expect(await store.summary({})).toMatchObject({ count: 1, mean_reward: 0, tokens: { total: 110 } });
      });
    });

    describe('usage', () => {
      const row = (group: string | null, runs: number, calls: number, seconds: number) => ({
        group,
        runs,
        model_calls: calls,
        prompt_tokens: 100 * calls,
        completion_tokens: 10 * calls,
        total_tokens: 110 * calls,
        compute_seconds: seconds,
      });

      it('without a group is one row, of nothing too', async () => {
        expect(await store.usage({ account: 'local' })).toEqual([row(null, 0, 0, 0)]);
        await add({}, { reward: 1, calls: 3 });
        await add({}, { reward: null });
        await add({}, { reward: 1, account: 'acme' });
        await add();
        const data = await store.usage({ account: 'local' });
        expect(data).toEqual([row(null, 2, 4, 1.8)]);
        expect(usageListSchema.parse({ object: 'list', data }).data).toEqual(data);
      });

      it('is grouped by day, oldest first, by model, by environment, most tokens first', async () => {
        await add({}, { reward: 1 });
        await add({ model: 'gpt' }, { reward: 1, calls: 2 });
        opened.clock.now += 2 * DAY_MS;
        await add({ env_name: 'retail' }, { reward: 1, calls: 5 });
        const by = (groupBy: 'day' | 'model' | 'env') => store.usage({ account: 'local', groupBy });
        expect(await by('day')).toEqual([row('2026-01-01', 2, 3, 1.8), row('2026-01-03', 1, 5, 0.9)]);
        expect(await by('model')).toEqual([row('proctor/oracle', 2, 6, 1.8), row('gpt', 1, 2, 0.9)]);
        expect(await by('env')).toEqual([row('retail', 1, 5, 0.9), row('counter', 2, 3, 1.8)]);
      });

      it('is grouped by the key of the run, with its name; what was run without a key is a group of its own', async () => {
        await opened.database.kysely
          .insertInto('api_keys')
          .values({ id: 'key_1', name: 'ci', account: 'local', key_hash: 'x', created_at: 0 })
          .execute();
        await add({}, { reward: 1, keyId: 'key_1', calls: 2 });
        await add({}, { reward: 1 });
        expect(await store.usage({ account: 'local', groupBy: 'key' })).toEqual([
          { ...row('key_1', 1, 2, 0.9), key_name: 'ci' },
          { ...row(null, 1, 1, 0.9), key_name: null },
        ]);
        await opened.database.kysely.deleteFrom('api_keys').execute();
      });

      it('is of the runs that were created in a time, both ends inclusive', async () => {
        const at = Date.parse('2026-01-01T00:00:00.010Z');
        for (let index = 0; index < 4; index++) await add({}, { reward: 1 });
        expect(await store.usage({ account: 'local', since: at + 10, until: at + 20 })).toMatchObject([{ runs: 2 }]);
      });

      it('counts every attempt, where the trace says what the last one used', async () => {
        const traceId = await add();
        const begin = opened.clock.now;
        await store.append(traceId, 1, [started, responded(1), responded(2)]);
        opened.clock.now = begin + 3_000;
        await store.startNextAttempt(traceId, 1, 'lost');
        opened.clock.now = begin + 60_000;
        await store.append(traceId, 2, [started, responded(1)]);
        opened.clock.now = begin + 62_000;
        await store.append(traceId, 2, [finished(1)]);
        expect(await store.trace(traceId)).toMatchObject({ usage: { model_calls: 1, total_tokens: 110 } });
        expect(await store.usage({ account: 'local' })).toEqual([row(null, 1, 3, 5)]);
        expect(await store.summary({})).toMatchObject({ tokens: { total: 110 } });
      });

      it('of a deleted trace stays', async () => {
        const traceId = await add({}, { reward: 1 });
        await store.remove(traceId);
        expect(await store.usage({ account: 'local' })).toEqual([row(null, 1, 1, 0.9)]);
      });
    });

    describe('a deleted trace', () => {
      const BYTES = Uint8Array.from({ length: 20_000 }, (_, index) => index % 251);
      const toHash = (reference: string) => reference.slice('svc-blob://sha256/'.length);

      it('takes its events, its metadata and the blobs that no other trace refers to with it', async () => {
        const first = await add({ metadata: { team: 'a' } });
        const second = await add();
        const shared = toHash(await store.putBlob(first, BYTES, 'image/png'));
        const own = toHash(await store.putBlob(first, BYTES.slice(1), 'image/png'));
        expect(toHash(await store.putBlob(second, BYTES, 'image/png'))).toBe(shared);
        await store.append(first, 1, [started, finished(1)]);
        expect(await store.remove(first)).toBe(true);
        expect(await store.events(first)).toEqual([]);
        const left = await opened.database.kysely.selectFrom('trace_metadata').selectAll().execute();
        expect(left).toEqual([]);
        expect(await store.blob(own)).toBeUndefined();
        expect((await store.blob(shared))?.bytes).toHaveLength(20_000);
        await store.append(second, 1, [started, finished(1)]);
        await store.remove(second);
        expect(await store.blob(shared)).toBeUndefined();
      });

      it('leaves no blob behind that is put, by whoever, while it goes', async () => {
        const keeper = await add();
        // Two connections to one file in one process would wait for each other.
        const other = name === 'Postgres' ? opened.other : store;
        for (let round = 0; round < 20; round++) {
          const gone = await add();
          await store.putBlob(gone, BYTES, 'image/png');
          await store.append(gone, 1, [started, finished(1)]);
          const [removed, reference] = await Promise.all([
            store.remove(gone),
            other.putBlob(keeper, BYTES, 'image/png'),
          ]);
          expect(removed).toBe(true);
          expect((await store.blob(toHash(reference)))?.bytes).toHaveLength(20_000);
          await opened.database.kysely.deleteFrom('trace_blobs').execute();
          await opened.database.kysely.deleteFrom('blobs').execute();
        }
      });

      it('cannot get a blob any more', async () => {
        const traceId = await add({}, { reward: 1 });
        await store.remove(traceId);
        await expect(store.putBlob(traceId, BYTES, 'image/png')).rejects.toThrow();
      });

      it('shows a blob to those accounts alone that have a trace with it', async () => {
        const traceId = await add({}, { account: 'acme' });
        const hash = toHash(await store.putBlob(traceId, BYTES, 'image/png'));
        expect(await store.blob(hash, 'acme')).toBeDefined();
        expect(await store.blob(hash, 'local')).toBeUndefined();
      });
    });
  });
}
