import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EventBody } from '../../../src/contract/service/event.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { AttemptSupersededError, type TraceStore } from '../../../src/store/traces/trace-store.ts';
import { until } from '../../until.ts';
import { finished, log, newTrace, newTraceId, seqs, started, upTo } from './events.ts';
import { APP_URL, type StoreUnderTest } from './store-contract.ts';

/** What every trace store promises about the events that are appended to it. */
export function describeTraceEvents(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`the events of the trace store on ${name}`, () => {
    let opened: StoreUnderTest;
    let store: TraceStore;
    let other: TraceStore;

    beforeEach(async () => {
      opened = await open();
      ({ store, other } = opened);
    });
    afterEach(async () => opened.close());

    async function create(): Promise<string> {
      const trace = newTrace();
      await store.create(trace);
      return trace.traceId;
    }

    it('numbers events from 1 without gap, in the order of the calls', async () => {
      const traceId = await create();
      const appended = await Promise.all(
        upTo(50).map((each) => store.append(traceId, 1, [log(`${each}`), log('and')])),
      );
      expect(appended.flatMap(seqs)).toEqual(upTo(101).slice(1));
      const events = await store.events(traceId);
      expect(seqs(events)).toEqual(upTo(101));
      expect(appended.flat()).toEqual(events.slice(1));
      expect(events.filter((_, index) => index % 2 === 1)).toMatchObject(upTo(50).map((each) => log(`${each}`)));
    });

    it('gives events back as they were', async () => {
      const traceId = await create();
      const texts = [
        '',
        '\u0000 \ud800 \u2028 😀 "\\',
        'x'.repeat(1_000_000),
        '{"seq":9}',
        "'); drop table events; --",
      ];
      await store.append(traceId, 1, texts.map(log));
      expect((await store.events(traceId, { after: 1 })).map((event) => event.type === 'log' && event.message)).toEqual(
        texts,
      );
    });

    it('stamps events with the time of the call and the attempt', async () => {
      const traceId = await create();
      opened.clock.now += 1_234;
      const [event] = await store.append(traceId, 1, [started]);
      expect(event).toEqual({ seq: 2, at: new Date(opened.clock.now).toISOString(), attempt: 1, ...started });
    });

    it('writes nothing for no events', async () => {
      const traceId = await create();
      expect(await store.append(traceId, 1, [])).toEqual([]);
      expect(await store.row(traceId)).toMatchObject({ lastSeq: 1 });
    });

    it('refuses an attempt that is no longer the current one, and goes on with its neighbours', async () => {
      const [lost, healthy] = [await create(), await create()];
      await store.append(lost, 1, [started]);
      await other.startNextAttempt(lost, 1, 'lost'); // this store does not know
      const results = await Promise.allSettled([
        store.append(healthy, 1, [log('before')]),
        store.append(lost, 1, [log('stalled'), log('and more')]),
        store.append(lost, 2, [log('successor')]),
        store.append(healthy, 1, [log('after')]),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
      expect(results[1]).toMatchObject({ reason: { name: 'AttemptSupersededError', traceId: lost, attempt: 1 } });
      const events = await other.events(lost);
      expect(events.map(({ seq, type, attempt }) => [seq, type, attempt])).toEqual([
        [1, 'run.queued', 1],
        [2, 'run.started', 1],
        [3, 'run.queued', 2],
        [4, 'log', 2],
      ]);
      expect(seqs(await store.events(healthy))).toEqual(upTo(3));
    });

    it('refuses an attempt that is yet to come', async () => {
      const traceId = await create();
      await expect(store.append(traceId, 2, [started])).rejects.toBeInstanceOf(AttemptSupersededError);
      expect(await store.row(traceId)).toMatchObject({ attempt: 1, lastSeq: 1 });
    });

    it('follows an attempt that another process began', async () => {
      const traceId = await create();
      await store.append(traceId, 1, [started]);
      await other.append(traceId, 1, [log('of the other process')]);
      expect(seqs(await store.append(traceId, 1, [log('of this one')]))).toEqual([4]);
      expect(await other.startNextAttempt(traceId, 1, 'lost')).toBe(2);
      expect(seqs(await store.append(traceId, 2, [started]))).toEqual([6]);
    });

    it('lets nothing of an attempt in after the next one has begun, however fast its worker writes', async () => {
      const traceId = await create();
      await store.append(traceId, 1, [started]);
      let written = 0;
      const writing = (async () => {
        for (;;) {
          await store.append(traceId, 1, [log(`${written}`)]);
          written += 1;
        }
      })();
      // Expected before it can happen: the writer may be refused while the next attempt is still being answered.
      const refusal = expect(writing).rejects.toBeInstanceOf(AttemptSupersededError);
      await until(() => written >= 20);
      expect(await other.startNextAttempt(traceId, 1, 'lost')).toBe(2);
      await refusal;
      await other.append(traceId, 2, [started]);
      const events = await other.events(traceId);
      expect(seqs(events)).toEqual(upTo(events.length));
      expect(events.map(({ attempt }) => attempt)).toEqual([...upTo(events.length - 2).map(() => 1), 2, 2]);
      expect(events).toHaveLength(2 + written + 2);
    });

    it('leaves a trace as it is where somebody begins an attempt that is over, and has not heard of it', async () => {
      const [cancelled, lost] = [await create(), await create()];
      await other.append(cancelled, 1, [finished()]);
      await other.startNextAttempt(lost, 1, 'lost');
      for (const traceId of [cancelled, lost]) {
        await expect(store.append(traceId, 1, [started])).rejects.toBeInstanceOf(AttemptSupersededError);
      }
      expect(await other.row(cancelled)).toMatchObject({ status: 'completed', lastSeq: 2 });
      expect(await other.row(lost)).toMatchObject({ status: 'queued', attempt: 2, lastSeq: 2 });
    });

    it('refuses what comes after run.finished, in the same group too', async () => {
      const traceId = await create();
      const results = await Promise.allSettled([
        store.append(traceId, 1, [started, finished()]),
        store.append(traceId, 1, [log('too late')]),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
      for (const each of [store, other]) {
        await expect(each.append(traceId, 1, [log('later')])).rejects.toBeInstanceOf(AttemptSupersededError);
        await expect(each.append(traceId, 1, [finished()])).rejects.toBeInstanceOf(AttemptSupersededError);
      }
      expect((await store.events(traceId)).map(({ type }) => type)).toEqual([
        'run.queued',
        'run.started',
        'run.finished',
      ]);
    });

    it('refuses a trace that does not exist', async () => {
      await expect(store.append(newTraceId(), 1, [started])).rejects.toBeInstanceOf(AttemptSupersededError);
    });

    it('refuses events that have no place there, and writes none of the call', async () => {
      const traceId = await create();
      await expect(store.append(traceId, 1, [log('a'), finished(), log('b')])).rejects.toThrow(/last event/);
      const queued: EventBody = { type: 'run.queued', ...newTrace().queued, previous_end: null };
      await expect(store.append(traceId, 1, [log('a'), queued])).rejects.toThrow(/startNextAttempt/);
      expect(await store.row(traceId)).toMatchObject({ lastSeq: 1 });
    });

    it('refuses a body that JSON cannot hold, and goes on with its neighbours', async () => {
      const traceId = await create();
      const circular: Record<string, unknown> = {};
      circular.self = circular;
      const broken = { type: 'answer.submitted', answer: circular } as unknown as EventBody;
      const results = await Promise.allSettled([
        store.append(traceId, 1, [log('before')]),
        store.append(traceId, 1, [broken]),
        store.append(traceId, 1, [log('after')]),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(seqs(await store.events(traceId))).toEqual(upTo(3));
    });

    it('waits for a transaction that is open, and is not undone with it', async () => {
      const traceId = await create();
      const creating = store.create(newTrace(), async () => {
        for (let turn = 0; turn < 5; turn++) await nextTurn();
        throw new Error('undone');
      });
      const rejection = expect(creating).rejects.toThrow('undone');
      await nextTurn(); // it has begun
      const appended = store.append(traceId, 1, [log('meanwhile')]);
      await rejection;
      expect(seqs(await appended)).toEqual([2]);
      expect(seqs(await other.events(traceId))).toEqual([1, 2]);
    });

    it('finds a number for an event, however often another process takes the one that it wanted', async () => {
      const traceId = await create();
      const { database, clock } = opened;
      let taken = 0;
      const contended: Database = {
        ...database,
        async runEach(...write) {
          if (++taken <= 5) await other.append(traceId, 1, [log(`${taken}`)]);
          return await database.runEach(...write);
        },
      };
      const slow = createTraceStore(contended, { appUrl: APP_URL, now: () => clock.now });
      expect(seqs(await slow.append(traceId, 1, [log('last'), finished()]))).toEqual([7, 8]);
      expect(seqs(await store.events(traceId))).toEqual(upTo(8));
    });

    it('reads back pages of events', async () => {
      const traceId = await create();
      await store.append(
        traceId,
        1,
        upTo(9).map((each) => log(`${each}`)),
      );
      expect(seqs(await store.events(traceId, { after: 4 }))).toEqual([5, 6, 7, 8, 9, 10]);
      expect(seqs(await store.events(traceId, { after: 4, limit: 2 }))).toEqual([5, 6]);
      expect(await store.events(traceId, { after: 10 })).toEqual([]);
    });
  });
}
