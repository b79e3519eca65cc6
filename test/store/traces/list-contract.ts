import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { traceListSchema } from '../../../src/contract/service/trace.ts';
import type { NewTrace, TraceQuery, TraceStore } from '../../../src/store/traces/trace-store.ts';
import { finished, newTrace, responded, started } from './events.ts';
import type { StoreUnderTest } from './store-contract.ts';

const SORTS = ['created_at', 'reward', 'duration', 'tokens'] as const;

/** What every trace store promises about its lists. */
export function describeTraceList(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`the list of the trace store on ${name}`, () => {
    let opened: StoreUnderTest;
    let store: TraceStore;

    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });
    afterEach(async () => opened.close());

    /** Creates a trace 10 ms after the one before; with a reward it is finished, with so many model calls. */
    async function add(
      queued: Partial<NewTrace['queued']> = {},
      {
        account,
        reward,
        calls = 1,
        tookMs = 100,
      }: { account?: string; reward?: number; calls?: number; tookMs?: number } = {},
    ): Promise<string> {
      const trace = newTrace(queued, account === undefined ? {} : { account });
      opened.clock.now += 10;
      await store.create(trace);
      if (reward === undefined) return trace.traceId;
      const steps = Array.from({ length: calls }, (_, index) => responded(index + 1));
      const createdAt = opened.clock.now;
      await store.append(trace.traceId, 1, [started]);
      opened.clock.now += tookMs;
      await store.append(trace.traceId, 1, [...steps, finished(reward)]);
      opened.clock.now = createdAt;
      return trace.traceId;
    }

    const ids = async (query: TraceQuery) => (await store.list(query)).data.map(({ trace_id }) => trace_id);

    async function allPages(query: TraceQuery, between: () => Promise<unknown> = async () => {}): Promise<string[]> {
      const found: string[] = [];
      let cursor: string | null = null;
      do {
        const page = await store.list(cursor === null ? query : { ...query, cursor });
        found.push(...page.data.map(({ trace_id }) => trace_id));
        cursor = page.nextCursor;
        await between();
      } while (cursor !== null);
      return found;
    }

    it('is empty where there are no traces', async () => {
      for (const sort of SORTS) expect(await store.list({ sort })).toEqual({ data: [], nextCursor: null });
    });

    it('has the newest first, as the contract has them', async () => {
      const [first, second] = [await add({}, { reward: 1 }), await add()];
      const { data, nextCursor } = await store.list({});
      expect(data.map(({ trace_id }) => trace_id)).toEqual([second, first]);
      expect(nextCursor).toBeNull();
      const parsed = traceListSchema.parse({ object: 'list', data, next_cursor: nextCursor });
      expect(parsed.data).toEqual(data);
      expect(data[1]).toMatchObject({ status: 'completed', trace_url: `http://127.0.0.1:8320/traces/${first}` });
    });

    it('is filtered by each field', async () => {
      const plain = await add({}, { reward: 0.5 });
      const odd = {
        env_name: await add({ env_name: 'retail' }, { reward: 0.5 }),
        scenario_name: await add({ scenario_name: 'task' }, { reward: 0.5 }),
        model: await add({ model: "it's" }, { reward: 0.5 }),
        origin: await add({ origin: 'chat' }, { reward: 0.5 }),
        metadata: await add({ metadata: { team: 'a', 'a.b': '%' } }, { reward: 0.5 }),
        account: await add({}, { reward: 0.5, account: 'acme' }),
        status: await add(),
      };
      expect(await ids({ envName: 'retail' })).toEqual([odd.env_name]);
      expect(await ids({ scenarioName: 'task' })).toEqual([odd.scenario_name]);
      expect(await ids({ model: "it's" })).toEqual([odd.model]);
      expect(await ids({ origin: 'chat' })).toEqual([odd.origin]);
      expect(await ids({ status: 'queued' })).toEqual([odd.status]);
      expect(await ids({ account: 'acme' })).toEqual([odd.account]);
      expect(await ids({ metadata: { team: 'a' } })).toEqual([odd.metadata]);
      expect(await ids({ metadata: { team: 'a', 'a.b': '%' } })).toEqual([odd.metadata]);
      expect(await ids({ metadata: { team: 'a', 'a.b': 'x' } })).toEqual([]);
      expect(
        await ids({ account: 'local', envName: 'counter', scenarioName: 'count_to', status: 'completed' }),
      ).toEqual([odd.metadata, odd.origin, odd.model, plain]);
    });

    it('is filtered by time, both ends inclusive', async () => {
      const start = opened.clock.now;
      const [, second, third] = [await add(), await add(), await add(), await add()];
      expect(await ids({ since: start + 20, until: start + 30 })).toEqual([third, second]);
      expect(await ids({ since: start + 41 })).toEqual([]);
    });

    it('is filtered by reward, which leaves out traces without one', async () => {
      const [zero, half, one] = [
        await add({}, { reward: 0 }),
        await add({}, { reward: 0.5 }),
        await add({}, { reward: 1 }),
      ];
      await add();
      // Of one account the few in a range are looked for by their reward.
      const lists = SORTS.flatMap((sort): TraceQuery[] => [{ sort }, { sort, account: 'local' }]);
      for (const list of lists) {
        const found = async (query: TraceQuery) => (await ids({ ...list, ...query })).sort();
        expect(await found({ minReward: 0 })).toEqual([zero, half, one].sort());
        expect(await found({ minReward: 0.5 })).toEqual([half, one].sort());
        expect(await found({ maxReward: 0.5 })).toEqual([zero, half].sort());
        expect(await found({ minReward: 0.5, maxReward: 0.5 })).toEqual([half]);
      }
    });

    it('is sorted by each column, descending, with those that have no value last and equal ones newest first', async () => {
      const small = await add({}, { reward: -1, calls: 1, tookMs: 100 });
      const large = await add({}, { reward: 1, calls: 3, tookMs: 300 });
      const open1 = await add();
      const medium = await add({}, { reward: 0.5, calls: 2, tookMs: 200 });
      const equal = await add({}, { reward: 0.5, calls: 2, tookMs: 200 });
      const open2 = await add();
      for (const sort of ['reward', 'duration', 'tokens'] as const) {
        expect(await ids({ sort }), sort).toEqual([large, equal, medium, small, open2, open1]);
      }
      expect(await ids({ sort: 'created_at' })).toEqual([open2, equal, medium, open1, large, small]);
    });

    it('is sorted by the running time of the last attempt, whatever a run waited; one that never ran has none', async () => {
      const addRun = async (waitedMs: number, ranMs: number, lostMs?: number) => {
        const trace = newTrace();
        opened.clock.now += 10;
        const createdAt = opened.clock.now;
        await store.create(trace);
        let attempt = 1;
        if (lostMs !== undefined) {
          await store.append(trace.traceId, attempt, [started]);
          opened.clock.now += lostMs;
          attempt = await store.startNextAttempt(trace.traceId, attempt, 'lost');
        }
        opened.clock.now += waitedMs;
        await store.append(trace.traceId, attempt, [started, responded(1)]);
        opened.clock.now += ranMs;
        await store.append(trace.traceId, attempt, [finished(1)]);
        opened.clock.now = createdAt;
        return trace.traceId;
      };
      const cancelled = newTrace();
      await store.create(cancelled);
      opened.clock.now += 90_000;
      await store.append(cancelled.traceId, 1, [finished(null, { status: 'cancelled', stop_reason: 'cancelled' })]);
      const waited = await addRun(70_000, 75);
      const ran = await addRun(0, 300);
      const lost = await addRun(5, 200, 40_000);
      expect(await ids({ sort: 'duration' })).toEqual([ran, lost, waited, cancelled.traceId]);
    });

    it('comes in pages that hold each trace once, in the order of one page', async () => {
      for (let index = 0; index < 23; index++) {
        await add(
          { metadata: { even: `${index % 2 === 0}` } },
          index % 3 === 0 ? {} : { reward: index % 4, calls: index % 5 },
        );
        if (index % 5 === 0) opened.clock.now -= 10; // some at the same millisecond
      }
      for (const sort of SORTS) {
        const all = await ids({ sort, limit: 100 });
        expect(new Set(all).size).toBe(23);
        for (const limit of [1, 4, 22, 23]) expect(await allPages({ sort, limit }), `${sort} by ${limit}`).toEqual(all);
        const even = await ids({ sort, metadata: { even: 'true' } });
        expect(await allPages({ sort, metadata: { even: 'true' }, limit: 5 })).toEqual(even);
        const rewarded = await ids({ sort, minReward: 1 });
        expect(await allPages({ sort, minReward: 1, limit: 2 })).toEqual(rewarded);
        expect(await allPages({ sort, account: 'local', minReward: 1, limit: 2 })).toEqual(rewarded);
        const until = opened.clock.now - 50;
        const early = await ids({ sort, until, limit: 100 });
        expect(early.length).toBeGreaterThan(10);
        expect(all.filter((id) => early.includes(id))).toEqual(early);
        expect(await allPages({ sort, until, limit: 3 })).toEqual(early);
      }
    });

    it('keeps its pages steady while traces are added', async () => {
      for (let index = 0; index < 12; index++) await add({}, index % 3 === 0 ? {} : { reward: index });
      for (const sort of SORTS) {
        const before = await ids({ sort });
        const found = await allPages({ sort, limit: 3 }, () => add({}, { reward: 100, calls: 9, tookMs: 9_000 }));
        expect(
          found.filter((id) => before.includes(id)),
          sort,
        ).toEqual(before);
        expect(new Set(found).size).toBe(found.length);
      }
    });

    it('ends a page before 8 MiB, of runs that have ended and of those that have not, and goes on after it', async () => {
      const large = { note: 'ü'.repeat(512 * 1024) }; // 1 MiB in UTF-8
      const added: string[] = [];
      for (let index = 0; index < 6; index += 1) {
        added.unshift(await add({ scenario_args: large }, index % 2 === 0 ? { reward: 1 } : {}));
        added.unshift(await add({ scenario_args: large }, { reward: 0.5 }));
      }
      for (const sort of SORTS) {
        const sizes: number[] = [];
        const found: string[] = [];
        let cursor: string | null = null;
        do {
          const page = await store.list(cursor === null ? { sort } : { sort, cursor });
          sizes.push(Buffer.byteLength(JSON.stringify(page)));
          found.push(...page.data.map(({ trace_id }) => trace_id));
          cursor = page.nextCursor;
        } while (cursor !== null);
        expect(sizes).toHaveLength(2);
        expect(Math.max(...sizes)).toBeLessThanOrEqual(8 * 1024 * 1024);
        expect(found.toSorted()).toEqual(added.toSorted());
      }
    });

    it('has a trace that is larger than a page alone on its page', async () => {
      const huge = { note: 'x'.repeat(9 * 1024 * 1024) };
      const first = await add({ scenario_args: huge }, { reward: 1 });
      const second = await add({ scenario_args: huge });
      const third = await add();
      expect(await allPages({ limit: 3 })).toEqual([third, second, first]);
      const page = await store.list({ limit: 3 });
      expect([page.data.length, page.nextCursor]).toEqual([1, expect.any(String)]);
    });

    it('has no next page where a page ends with the last trace', async () => {
      for (let index = 0; index < 4; index++) await add();
      expect((await store.list({ limit: 4 })).nextCursor).toBeNull();
      expect((await store.list({ limit: 3 })).nextCursor).not.toBeNull();
    });

    it('refuses a cursor that it did not make for this list', async () => {
      for (let index = 0; index < 3; index++) await add({}, { reward: 1 });
      const query: TraceQuery = { account: 'local', envName: 'counter', limit: 1 };
      const { nextCursor } = await store.list(query);
      if (nextCursor === null) throw new Error('a next page is expected');
      const foreign: readonly TraceQuery[] = [
        { ...query, account: 'acme', cursor: nextCursor },
        { ...query, envName: 'retail', cursor: nextCursor },
        { ...query, sort: 'reward', cursor: nextCursor },
        { ...query, metadata: { team: 'a' }, cursor: nextCursor },
        { ...query, cursor: '' },
        { ...query, cursor: 'x' },
        { ...query, cursor: `${nextCursor}x`.repeat(2) },
        { ...query, cursor: Buffer.from('["",null,0,""]').toString('base64url') },
        { ...query, cursor: Buffer.from('[]').toString('base64url') },
        { ...query, cursor: Buffer.from('null').toString('base64url') },
      ];
      for (const each of foreign) {
        await expect(store.list(each), JSON.stringify(each)).rejects.toMatchObject({
          code: 'invalid_parameter',
          param: 'cursor',
          status: 400,
        });
      }
      expect((await store.list({ ...query, limit: 2, cursor: nextCursor })).data).toHaveLength(2);
    });

    it.each(['duration', 'tokens'] as const)('refuses a cursor whose %s is no whole number', async (sort) => {
      for (let index = 0; index < 2; index++) await add({}, { reward: 1 });
      const { nextCursor } = await store.list({ account: 'local', sort, limit: 1 });
      const [made, , ...place] = z
        .array(z.unknown())
        .parse(JSON.parse(Buffer.from(nextCursor ?? '', 'base64url').toString()));
      for (const value of [1.5, 1e300]) {
        const cursor = Buffer.from(JSON.stringify([made, value, ...place])).toString('base64url');
        await expect(store.list({ account: 'local', sort, limit: 1, cursor })).rejects.toMatchObject({
          param: 'cursor',
        });
      }
    });

    it('refuses a limit that is not 1 to 100, and gives 50 where none is asked for', async () => {
      for (const limit of [0, -1, 101, 1.5, Number.NaN]) {
        await expect(store.list({ limit })).rejects.toMatchObject({ code: 'invalid_parameter', param: 'limit' });
      }
      for (let index = 0; index < 51; index++) await add();
      expect((await store.list({})).data).toHaveLength(50);
    });
  });
}
