import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { messageOf } from '../../../src/contract/errors.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createDatabaseQueue } from '../../../src/store/queue/database-queue.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { lockTraceAndEvents } from '../../../src/store/traces/rows/trace-heads.ts';
import type { TraceStore } from '../../../src/store/traces/trace-store.ts';
import { sharedPostgres } from '../../postgres.ts';
import { type Relay, startRelay } from '../../relay.ts';
import { finished, log, newTrace, seqs, started, upTo } from './events.ts';

const APP_URL = 'http://127.0.0.1:8320';

/** Whether Postgres has committed when a connection is lost is not known to whoever asked for it. */
describe('a commit of which the answer is lost is not done twice:', () => {
  let relay: Relay;
  let url: string;
  let store: TraceStore;
  let counts: () => Promise<{ readonly waiting: number; readonly leased: number }>;
  let enqueue: (traceId: string) => Parameters<TraceStore['create']>[1];

  beforeEach(async () => {
    const server = await sharedPostgres();
    relay = await startRelay(server.port);
    url = (await server.createDatabase()).replace(`:${server.port}/`, `:${relay.port}/`);
    const database = await openDatabase(url);
    onTestFinished(() => database.close());
    store = createTraceStore(database, { appUrl: APP_URL });
    const queue = createDatabaseQueue(database);
    counts = () => queue.counts();
    enqueue = (traceId) => (transaction) => queue.enqueue({ traceId, priority: 0 }, transaction);
  });

  async function running(): Promise<string> {
    const trace = newTrace();
    await store.create(trace);
    await store.append(trace.traceId, 1, [started]);
    return trace.traceId;
  }

  it('of a new trace', async () => {
    const [first, second] = [newTrace(), newTrace()];
    relay.loseAnswerTo('commit');
    await Promise.all([first, second].map((trace) => store.create(trace, enqueue(trace.traceId))));
    for (const { traceId } of [first, second]) expect(seqs(await store.events(traceId))).toEqual([1]);
    expect(await counts()).toEqual({ waiting: 2, leased: 0 });
    expect(relay.lost).toBe(1);
  });

  it('of events', async () => {
    const [traceId, other] = [await running(), await running()];
    relay.loseAnswerTo('once');
    const appended = await Promise.all([
      store.append(traceId, 1, [log('once'), log('and')]),
      store.append(other, 1, [log('beside it')]),
    ]);
    expect(appended.map(seqs)).toEqual([[3, 4], [3]]);
    expect(await store.events(traceId, { after: 2 })).toMatchObject([log('once'), log('and')]);
    expect(seqs(await store.append(traceId, 1, [log('after it')]))).toEqual([5]);
    expect(seqs(await store.events(other))).toEqual(upTo(3));
    expect(relay.lost).toBe(1);
  });

  it('of the end of a run', async () => {
    const traceId = await running();
    relay.loseAnswerTo('the last one');
    expect(seqs(await store.append(traceId, 1, [log('the last one'), finished()]))).toEqual([3, 4]);
    expect(seqs(await store.events(traceId))).toEqual(upTo(4));
    expect(await store.row(traceId)).toMatchObject({ status: 'completed' });
    expect(relay.lost).toBe(1);
  });

  it.each([
    ['an event', [log('the late one')]],
    ['the end of a run', [log('the late one'), finished()]],
  ])('of %s, where it comes when the next try is about to read where the trace stands', async (_, bodies) => {
    const traceId = await running();
    const [stranger, holder] = [await openDatabase(url), await openDatabase(url)];
    onTestFinished(() => stranger.close());
    onTestFinished(() => holder.close());
    const { appended, goOn } = await holder.transaction(async (transaction) => {
      await lockTraceAndEvents(transaction, traceId);
      const isLeft = relay.leaveWith('the late one');
      const appended = createTraceStore(stranger, { appUrl: APP_URL }).append(traceId, 1, bodies);
      await isLeft;
      return { appended: appended.then(seqs, messageOf), goOn: await relay.hold('"lastSeq"') };
    });
    const written = upTo(bodies.length + 2);
    await expect.poll(async () => seqs(await store.events(traceId))).toEqual(written);
    goOn();
    expect(await appended).toEqual(written.slice(2));
    expect(seqs(await store.events(traceId))).toEqual(written);
  });

  it('of the next attempt', async () => {
    const traceId = await running();
    relay.loseAnswerTo('commit');
    expect(await store.startNextAttempt(traceId, 1, 'lost', enqueue(traceId))).toBe(2);
    expect(seqs(await store.events(traceId))).toEqual(upTo(3));
    expect(await store.row(traceId)).toMatchObject({ status: 'queued', attempt: 2 });
    expect(await counts()).toEqual({ waiting: 1, leased: 0 });
    expect(relay.lost).toBe(1);
  });

  it('and one of which the question is lost is done once', async () => {
    const traceId = await running();
    relay.cut();
    const appended = store.append(traceId, 1, [log('once')]);
    await relay.mend();
    expect(seqs(await appended)).toEqual([3]);
    expect(seqs(await store.events(traceId))).toEqual(upTo(3));
  });
});
