import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EventBody } from '../../../src/contract/service/event.ts';
import { toSummary } from '../../../src/store/traces/rows/projection.ts';
import type { TraceStore } from '../../../src/store/traces/trace-store.ts';
import { evaluated, finished, log, newTrace, responded, setUp, started, turnFinished, turnStarted } from './events.ts';
import type { StoreUnderTest } from './store-contract.ts';

const PLAYED: readonly EventBody[] = [setUp, turnStarted(), responded(1, { content: 'Two.' }), turnFinished()];

/** What every trace store promises about what is left of a trace that has ended, however its events came there. */
export function describeTraceEnds(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`the end of a trace of the store on ${name} leaves a summary of all of its events`, () => {
    let opened: StoreUnderTest;
    let store: TraceStore;
    let other: TraceStore;

    beforeEach(async () => {
      opened = await open();
      ({ store, other } = opened);
    });
    afterEach(async () => opened.close());

    /** As a worker has it: the row is read before the first event of the attempt. */
    async function take(queued: Parameters<typeof newTrace>[0] = {}): Promise<string> {
      const trace = newTrace(queued);
      await store.create(trace);
      await store.row(trace.traceId);
      return trace.traceId;
    }

    async function expectSummary(traceId: string, expected: object): Promise<void> {
      const trace = await other.trace(traceId);
      if (trace === undefined) throw new Error(`There is no trace ${traceId}`);
      const listed = (await other.list({})).data.find(({ trace_id }) => trace_id === traceId);
      expect(listed).toEqual(toSummary(trace));
      expect(listed).toMatchObject({ status: 'completed', reward: 1, usage: { model_calls: 1 }, ...expected });
      expect(await other.summary({ account: 'local' })).toMatchObject({ count: 1, mean_reward: 1 });
    }

    it('where it was followed from its beginning', async () => {
      const traceId = await take({ metadata: { suite: 'a' } });
      opened.clock.now += 70;
      await store.append(traceId, 1, [started]);
      for (const event of PLAYED) await store.append(traceId, 1, [event]);
      opened.clock.now += 30;
      await store.append(traceId, 1, [evaluated(1), finished(1)]);
      await expectSummary(traceId, { metadata: { suite: 'a' }, timing: { total_ms: 100, queued_ms: 70 } });
    });

    it('where all of it comes at once', async () => {
      const traceId = await take();
      await Promise.all([
        store.append(traceId, 1, [started, ...PLAYED]),
        store.append(traceId, 1, [evaluated(1)]),
        store.append(traceId, 1, [finished(1)]),
      ]);
      await expectSummary(traceId, { evaluation: { reward: 1 } });
    });

    it('where another process began it', async () => {
      const traceId = await take();
      await other.append(traceId, 1, [started, ...PLAYED]);
      await store.append(traceId, 1, [finished(1)]);
      await expectSummary(traceId, { prompt: [{ role: 'user', content: 'Count to 2.' }] });
    });

    it('where it has more events than are kept in memory', async () => {
      const traceId = await take();
      await store.append(traceId, 1, [started, ...PLAYED.slice(0, 1)]);
      await store.append(traceId, 1, [log('x'.repeat(300_000))]);
      await store.append(traceId, 1, [...PLAYED.slice(1), evaluated(1)]);
      await store.append(traceId, 1, [finished(1)]);
      await expectSummary(traceId, { system: 'Be exact.' });
    });

    it('where it is that of a later attempt', async () => {
      const traceId = await take();
      await store.append(traceId, 1, [started, ...PLAYED]);
      await store.startNextAttempt(traceId, 1, 'lost');
      await store.append(traceId, 2, [started, ...PLAYED, finished(1)]);
      await expectSummary(traceId, { attempt: 2 });
    });

    it('where one that ends beside it had a secret in its request, which goes from its row', async () => {
      const secret = `sk-proj-${'a1B2'.repeat(12)}`;
      const [plain, told] = [await take(), await take({ scenario_args: { key: secret } })];
      await Promise.all([plain, told].map((traceId) => store.append(traceId, 1, [started, ...PLAYED, finished(1)])));
      const rows = await opened.database.kysely
        .selectFrom('traces')
        .select(['trace_id', 'request', 'status'])
        .execute();
      expect(rows.map(({ status }) => status)).toEqual(['completed', 'completed']);
      expect(rows.find(({ trace_id }) => trace_id === told)?.request).not.toContain(secret);
      expect(rows.find(({ trace_id }) => trace_id === plain)?.request).toContain('"target":2');
      expect(await other.summary({ account: 'local' })).toMatchObject({ count: 2 });
    });
  });
}
