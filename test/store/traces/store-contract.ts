import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../../src/contract/service/event.ts';
import { traceSchema } from '../../../src/contract/service/trace.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { AttemptSupersededError, type NewTrace, type TraceStore } from '../../../src/store/traces/trace-store.ts';
import {
  evaluated,
  finished,
  log,
  newTrace,
  newTraceId,
  ready,
  responded,
  seqs,
  setUp,
  started,
  turnFinished,
  turnStarted,
  upTo,
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

/** What every trace store promises; `append-contract.ts` and `list-contract.ts` have the rest. */
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
    const countTraces = async () => (await store.list({ limit: 100 })).data.length;

    describe('create', () => {
      it('writes the row and run.queued', async () => {
        const trace = newTrace({ metadata: { team: 'a' } }, { account: 'acme' });
        await create(trace);
        expect(await store.row(trace.traceId)).toEqual({
          traceId: trace.traceId,
          account: 'acme',
          keyId: null,
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

      it('commits what is written inTransaction with it, or none of both', async () => {
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
      it('ends the attempt and queues the next one, with what is written inTransaction', async () => {
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

      it('says in the next one why it was lost, without secrets', async () => {
        const traceId = await create();
        const error = { boundary: 'environment' as const, code: 'environment_failed', message: 'It was killed' };
        const told = { ...error, message: `It was killed with sk-${'a1B2'.repeat(12)}` };
        await store.startNextAttempt(traceId, 1, 'lost', undefined, error);
        await store.startNextAttempt(traceId, 2, 'lost', undefined, told);
        await store.startNextAttempt(traceId, 3, 'lost');
        const [first, second, third, last] = await store.events(traceId);
        expect([first, last].some((event) => event !== undefined && 'previous_error' in event)).toBe(false);
        expect(second).toMatchObject({ previous_end: 'lost', previous_error: error });
        expect(third).toMatchObject({
          previous_error: { message: expect.stringMatching(/^It was killed with \[redacted/) },
        });
        expect((await store.trace(traceId))?.attempts[0]).toMatchObject({ end: 'lost', error });
      });

      it('happens once for each attempt, and never after the end', async () => {
        const traceId = await create();
        expect(await other.startNextAttempt(traceId, 1, 'lost')).toBe(2);
        await expect(store.startNextAttempt(traceId, 1, 'lost')).rejects.toBeInstanceOf(AttemptSupersededError);
        await store.append(traceId, 2, [started, finished()]);
        await expect(store.startNextAttempt(traceId, 2, 'lost')).rejects.toBeInstanceOf(AttemptSupersededError);
        await expect(store.startNextAttempt(newTraceId(), 1, 'lost')).rejects.toBeInstanceOf(AttemptSupersededError);
      });

      it('is undone when what is written inTransaction fails', async () => {
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
        const [first, second] = [await create(), await create()];
        const reference = await store.putBlob(first, bytes, 'image/png');
        const again = await other.putBlob(second, bytes, 'image/png');
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
