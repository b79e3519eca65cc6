import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EventBody, TraceEvent } from '../../src/contract/event.ts';
import { traceSchema } from '../../src/contract/trace.ts';
import type { Database } from '../../src/database/database.ts';
import { AttemptSupersededError, type NewTrace, type TraceStore } from '../../src/trace/trace-store.ts';
import {
  evaluated,
  finished,
  log,
  newTrace,
  newTraceId,
  ready,
  responded,
  setUp,
  started,
  turnFinished,
  turnStarted,
} from './events.ts';

export interface StoreUnderTest {
  readonly store: TraceStore;
  /** On another connection to the same database, as another process has it. */
  readonly other: TraceStore;
  /** What `store` is on. */
  readonly database: Database;
  /** Milliseconds since 1970, of both. */
  readonly clock: { now: number };
  close(): Promise<void>;
}

/** The address that both stores are told. */
export const APP_URL = 'http://127.0.0.1:8320/';

/** What every trace store promises; `test/trace/list-contract.ts` has the rest. */
export function describeTraceStore(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`the trace store on ${name}`, () => {
    let opened: StoreUnderTest;
    let store: TraceStore;
    let other: TraceStore;

    beforeEach(async () => {
      opened = await open();
      ({ store, other } = opened);
    });
    afterEach(async () => opened.close());

    async function create(trace: NewTrace = newTrace()): Promise<string> {
      await store.create(trace);
      return trace.traceId;
    }
    const seqs = (events: readonly TraceEvent[]) => events.map(({ seq }) => seq);
    const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
    const countTraces = async () => (await store.list({ limit: 100 })).data.length;

    describe('create', () => {
      it('writes the row and run.queued', async () => {
        const trace = newTrace({ metadata: { team: 'a' } }, { account: 'acme' });
        await create(trace);
        expect(await store.row(trace.traceId)).toEqual({
          traceId: trace.traceId,
          account: 'acme',
          origin: 'run',
          status: 'queued',
          attempt: 1,
          lastSeq: 1,
          cancelRequested: false,
          request: { type: 'run.queued', ...trace.queued, previous_end: null },
        });
        expect(await store.events(trace.traceId)).toEqual([
          {
            seq: 1,
            at: new Date(opened.clock.now).toISOString(),
            attempt: 1,
            type: 'run.queued',
            ...trace.queued,
            previous_end: null,
          },
        ]);
      });

      it('commits what is written alongside with it, or none of both', async () => {
        const enqueue = (traceId: string) => ({ trace_id: traceId, priority: 0, enqueued_at: 0, is_redelivered: 0 });
        const kept = newTrace();
        await store.create(kept, async (transaction) => {
          await transaction.insertInto('queue').values(enqueue(kept.traceId)).execute();
        });
        const failed = newTrace();
        const creating = store.create(failed, async (transaction) => {
          await transaction.insertInto('queue').values(enqueue(failed.traceId)).execute();
          throw new Error('the queue is full');
        });
        await expect(creating).rejects.toThrow('the queue is full');
        expect(await store.row(failed.traceId)).toBeUndefined();
        expect(await store.events(failed.traceId)).toEqual([]);
        const entries = await opened.database.kysely.selectFrom('queue').select('trace_id').execute();
        expect(entries).toEqual([{ trace_id: kept.traceId }]);
      });

      it('refuses a trace id that is there, and leaves that trace as it was', async () => {
        const traceId = await create();
        await expect(store.create(newTrace({ model: 'another' }, { traceId }))).rejects.toThrow();
        expect(await store.row(traceId)).toMatchObject({ lastSeq: 1, request: { model: 'proctor/oracle' } });
      });
    });

    describe('append', () => {
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
        expect(
          (await store.events(traceId, { after: 1 })).map((event) => event.type === 'log' && event.message),
        ).toEqual(texts);
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
        await nextTurn(); // it has begun
        const appended = store.append(traceId, 1, [log('meanwhile')]);
        await expect(creating).rejects.toThrow('undone');
        expect(seqs(await appended)).toEqual([2]);
        expect(seqs(await other.events(traceId))).toEqual([1, 2]);
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

    describe('the row', () => {
      it('follows the events that change it', async () => {
        const traceId = await create();
        await store.append(traceId, 1, [started]);
        expect(await other.row(traceId)).toMatchObject({ status: 'running', lastSeq: 2 });
        opened.clock.now += 2_500;
        await store.append(traceId, 1, [responded(1), evaluated(0.5), finished(0.5)]);
        expect(await other.row(traceId)).toMatchObject({ status: 'completed', lastSeq: 5 });
        const columns = await opened.database.kysely.selectFrom('traces').selectAll().executeTakeFirstOrThrow();
        expect(columns).toMatchObject({
          reward: 0.5,
          finished_at: opened.clock.now,
          duration_ms: 2_500,
          total_tokens: 110,
        });
      });

      it('is undefined where there is none', async () => {
        expect(await store.row(newTraceId())).toBeUndefined();
      });
    });

    describe('startNextAttempt', () => {
      it('ends the attempt and queues the next one, with what is written alongside', async () => {
        const traceId = await create();
        await store.append(traceId, 1, [started]);
        let isAlongside = false;
        const next = await store.startNextAttempt(traceId, 1, 'released', async (transaction) => {
          const row = await transaction.selectFrom('traces').select('attempt').executeTakeFirst();
          isAlongside = row?.attempt === 2;
        });
        expect([next, isAlongside]).toEqual([2, true]);
        expect(await store.row(traceId)).toMatchObject({ status: 'queued', attempt: 2, lastSeq: 3 });
        expect((await store.events(traceId)).at(-1)).toMatchObject({
          type: 'run.queued',
          attempt: 2,
          previous_end: 'released',
          scenario_args: { target: 2 },
        });
        expect((await store.row(traceId))?.request).toMatchObject({ previous_end: null });
      });

      it('happens once for each attempt, and never after the end', async () => {
        const traceId = await create();
        expect(await other.startNextAttempt(traceId, 1, 'lost')).toBe(2);
        await expect(store.startNextAttempt(traceId, 1, 'lost')).rejects.toBeInstanceOf(AttemptSupersededError);
        await store.append(traceId, 2, [started, finished()]);
        await expect(store.startNextAttempt(traceId, 2, 'lost')).rejects.toBeInstanceOf(AttemptSupersededError);
        await expect(store.startNextAttempt(newTraceId(), 1, 'lost')).rejects.toBeInstanceOf(AttemptSupersededError);
      });

      it('is undone when what is written alongside fails', async () => {
        const traceId = await create();
        const failing = store.startNextAttempt(traceId, 1, 'lost', () => Promise.reject(new Error('no')));
        await expect(failing).rejects.toThrow('no');
        expect(await store.row(traceId)).toMatchObject({ attempt: 1, lastSeq: 1 });
        expect(seqs(await store.append(traceId, 1, [started]))).toEqual([2]);
      });
    });

    describe('cancel and remove', () => {
      it('notes that someone asked for the run to be cancelled, until it is finished', async () => {
        const traceId = await create();
        expect(await other.requestCancel(traceId)).toBe(true);
        expect(await store.row(traceId)).toMatchObject({ cancelRequested: true, status: 'queued' });
        await store.append(traceId, 1, [finished(null, { status: 'cancelled', stop_reason: 'cancelled' })]);
        expect(await store.requestCancel(traceId)).toBe(false);
        expect(await store.requestCancel(newTraceId())).toBe(false);
      });

      it('removes a finished trace with its events, and nothing comes back', async () => {
        const traceId = await create(newTrace({ metadata: { team: 'a' } }));
        await store.append(traceId, 1, [started]);
        expect(await store.remove(traceId)).toBe(false);
        await other.append(traceId, 1, [finished()]); // the first store still takes it for running
        expect(await other.remove(traceId)).toBe(true);
        expect(await store.remove(traceId)).toBe(false);
        await expect(store.append(traceId, 1, [log('stalled')])).rejects.toBeInstanceOf(AttemptSupersededError);
        expect(await store.events(traceId)).toEqual([]);
        expect(await store.trace(traceId)).toBeUndefined();
        expect(await store.list({ metadata: { team: 'a' } })).toEqual({ data: [], nextCursor: null });
      });
    });

    describe('trace', () => {
      it('is projected from the events', async () => {
        const traceId = await create();
        await store.append(traceId, 1, [started, ready, setUp, turnStarted(), responded(1, { content: 'Two.' })]);
        await store.append(traceId, 1, [turnFinished(), evaluated(1), finished(1)]);
        const trace = traceSchema.parse(await other.trace(traceId));
        expect(trace).toMatchObject({
          trace_id: traceId,
          trace_url: `http://127.0.0.1:8320/traces/${traceId}`,
          status: 'completed',
          reward: 1,
          steps: [{ step: 1, message: { content: 'Two.' } }],
        });
      });

      it('is whole when it is longer than one page of events', async () => {
        const traceId = await create();
        await store.append(traceId, 1, [started, ...upTo(1_200).map((each) => log(`${each}`))]);
        expect((await store.trace(traceId))?.logs.map(({ message }) => Number(message))).toEqual(upTo(1_200));
      });

      it('is not there for another account', async () => {
        const traceId = await create(newTrace({}, { account: 'acme' }));
        expect(await store.trace(traceId, 'acme')).toMatchObject({ trace_id: traceId });
        expect(await store.trace(traceId)).toMatchObject({ trace_id: traceId });
        expect(await store.trace(traceId, 'globex')).toBeUndefined();
        expect(await store.trace(newTraceId(), 'acme')).toBeUndefined();
      });
    });

    describe('subscribe', () => {
      it('calls back with what was committed, in order, until it is stopped', async () => {
        const trace = newTrace();
        const seen: TraceEvent[] = [];
        const stop = store.subscribe(trace.traceId, (events) => seen.push(...events));
        await create(trace);
        await create();
        await Promise.all([store.append(trace.traceId, 1, [started]), store.append(trace.traceId, 1, [log('a')])]);
        await store.startNextAttempt(trace.traceId, 1, 'lost');
        await expect(store.append(trace.traceId, 1, [log('refused')])).rejects.toThrow();
        stop();
        stop();
        await store.append(trace.traceId, 2, [started]);
        expect(seen).toEqual((await store.events(trace.traceId)).slice(0, 4));
      });

      it('does not let a listener that throws harm the append or other listeners', async () => {
        const traceId = await create();
        const warnings: Error[] = [];
        const onWarning = (warning: Error) => warnings.push(warning);
        process.on('warning', onWarning);
        try {
          let heard = 0;
          store.subscribe(traceId, () => {
            throw new Error('listener broke');
          });
          store.subscribe(traceId, () => heard++);
          expect(seqs(await store.append(traceId, 1, [started]))).toEqual([2]);
          expect(heard).toBe(1);
          await nextTurn();
          expect(warnings.map(({ message }) => message)).toContain('listener broke');
        } finally {
          process.off('warning', onWarning);
        }
      });
    });

    describe('blobs', () => {
      it('are stored once by content', async () => {
        const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => index % 251);
        const [reference, again] = [await store.putBlob(bytes, 'image/png'), await other.putBlob(bytes, 'image/png')];
        expect(again).toBe(reference);
        expect(reference).toMatch(/^svc-blob:\/\/sha256\/[0-9a-f]{64}$/);
        const found = await other.blob(reference.slice('svc-blob://sha256/'.length));
        expect(found?.mimeType).toBe('image/png');
        expect(Buffer.compare(found?.bytes ?? new Uint8Array(), bytes)).toBe(0);
        const { blobs } = await opened.database.kysely
          .selectFrom('blobs')
          .select(({ fn }) => fn.countAll<number>().as('blobs'))
          .executeTakeFirstOrThrow();
        expect(Number(blobs)).toBe(1);
      });

      it('are undefined where there is none', async () => {
        expect(await store.blob('0'.repeat(64))).toBeUndefined();
      });
    });

    it('lists a trace that is unfinished as it is now', async () => {
      const traceId = await create();
      await store.append(traceId, 1, [started, setUp, responded(1)]);
      const { data } = await other.list({});
      expect(data).toMatchObject([
        { trace_id: traceId, status: 'running', system: 'Be exact.', usage: { model_calls: 1 } },
      ]);
      expect(data[0]).not.toHaveProperty('steps');
      expect(await countTraces()).toBe(1);
    });
  });
}
