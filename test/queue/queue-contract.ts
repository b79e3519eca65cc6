import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import type { RunQueue } from '../../src/queue/run-queue.ts';

export interface QueueUnderTest {
  readonly queue: RunQueue;
  /** On another connection, as another process has it. */
  readonly other: RunQueue;
  /** Whose transactions an entry may be part of. */
  readonly database: Database;
  /** Milliseconds since 1970, of both. */
  readonly clock: { now: number };
  close(): Promise<void>;
}

/** What every run queue promises. */
export function describeRunQueue(name: string, open: () => Promise<QueueUnderTest>): void {
  describe(`the run queue on ${name}`, () => {
    let opened: QueueUnderTest;
    let queue: RunQueue;
    let other: RunQueue;

    beforeEach(async () => {
      opened = await open();
      ({ queue, other } = opened);
    });
    afterEach(async () => opened.close());

    async function enqueue(...traceIds: readonly string[]): Promise<void> {
      for (const traceId of traceIds) {
        await queue.enqueue({ traceId, priority: 0 });
        opened.clock.now += 1;
      }
    }

    async function leaseNext(leaseMs?: number, from = queue) {
      const lease = await from.lease('worker-1', leaseMs === undefined ? {} : { leaseMs });
      if (lease === undefined) throw new Error('an entry is expected');
      return lease;
    }

    it('gives nothing where there is nothing', async () => {
      expect(await queue.lease('worker-1')).toBeUndefined();
      expect(await queue.counts()).toEqual({ waiting: 0, leased: 0 });
    });

    it('gives each entry to one worker, the oldest first', async () => {
      await enqueue('a', 'b', 'c');
      const leases = [await queue.lease('worker-1'), await other.lease('worker-2'), await queue.lease('worker-1')];
      expect(leases).toMatchObject([
        { traceId: 'a', worker: 'worker-1', leaseMs: 10_000, isRedelivered: false },
        { traceId: 'b', worker: 'worker-2' },
        { traceId: 'c', worker: 'worker-1' },
      ]);
      expect(new Set(leases.map((lease) => lease?.token)).size).toBe(3);
      expect(await other.lease('worker-2')).toBeUndefined();
    });

    it('gives the highest priority first', async () => {
      await queue.enqueue({ traceId: 'low', priority: 0 });
      opened.clock.now += 1;
      await queue.enqueue({ traceId: 'high', priority: 9 });
      opened.clock.now += 1;
      await queue.enqueue({ traceId: 'also-high', priority: 9 });
      const order = [await leaseNext(), await leaseNext(), await leaseNext()].map(({ traceId }) => traceId);
      expect(order).toEqual(['high', 'also-high', 'low']);
    });

    it('holds a trace once, and a second enqueue does not take it from its holder', async () => {
      await enqueue('a', 'a');
      const lease = await leaseNext();
      await enqueue('a');
      expect(await queue.counts()).toEqual({ waiting: 0, leased: 1 });
      expect(await queue.renew(lease)).toBe(true);
    });

    it('adds an entry in a transaction with the rest of it, or not at all', async () => {
      const adding = opened.database.transaction(async (transaction) => {
        await queue.enqueue({ traceId: 'a', priority: 0 }, transaction);
        throw new Error('no');
      });
      await expect(adding).rejects.toThrow('no');
      expect(await queue.lease('worker-1')).toBeUndefined();
      await opened.database.transaction((transaction) => queue.enqueue({ traceId: 'b', priority: 0 }, transaction));
      expect(await leaseNext()).toMatchObject({ traceId: 'b' });
    });

    it('adds an entry that its worker holds from the start', async () => {
      const lease = await opened.database.transaction((transaction) =>
        queue.enqueueLeased({ traceId: 'a', priority: 0 }, 'worker-1', transaction),
      );
      expect(lease).toMatchObject({ traceId: 'a', worker: 'worker-1', leaseMs: 10_000, isRedelivered: false });
      expect(await other.lease('worker-2')).toBeUndefined();
      expect(await queue.renew(lease)).toBe(true);
      opened.clock.now += 10_000;
      expect(await leaseNext(undefined, other)).toMatchObject({ traceId: 'a', isRedelivered: true });
    });

    it('gives an entry again when its lease has run out, and says so', async () => {
      await enqueue('a');
      const lost = await leaseNext(1_000);
      opened.clock.now += 999;
      expect(await other.lease('worker-2')).toBeUndefined();
      opened.clock.now += 1;
      expect(await queue.counts()).toEqual({ waiting: 1, leased: 0 });
      const taken = await leaseNext(1_000, other);
      expect(taken).toMatchObject({ traceId: 'a', isRedelivered: true });
      expect(taken.token).not.toBe(lost.token);
    });

    it('keeps an entry for a holder that renews', async () => {
      await enqueue('a');
      const lease = await leaseNext(1_000);
      for (let round = 0; round < 5; round++) {
        opened.clock.now += 900;
        expect(await queue.renew(lease)).toBe(true);
        expect(await other.lease('worker-2')).toBeUndefined();
      }
    });

    it('lets a holder that was late renew as long as nobody took the entry', async () => {
      await enqueue('a');
      const lease = await leaseNext(1_000);
      opened.clock.now += 5_000;
      expect(await queue.renew(lease)).toBe(true);
      expect(await other.lease('worker-2')).toBeUndefined();
    });

    it('does not let a holder that lost its lease renew, complete or release the next one', async () => {
      await enqueue('a');
      const lost = await leaseNext(1_000);
      opened.clock.now += 1_000;
      const taken = await leaseNext(1_000, other);
      expect(await queue.renew(lost)).toBe(false);
      await queue.complete(lost);
      await queue.release(lost);
      expect(await other.lease('worker-3')).toBeUndefined();
      expect(await other.renew(taken)).toBe(true);
    });

    it('forgets an entry that was completed', async () => {
      await enqueue('a');
      const lease = await leaseNext();
      await queue.complete(lease);
      expect(await queue.renew(lease)).toBe(false);
      opened.clock.now += 60_000;
      expect(await queue.lease('worker-1')).toBeUndefined();
      expect(await queue.counts()).toEqual({ waiting: 0, leased: 0 });
    });

    it('gives back at once what was released, in its old place, as no redelivery', async () => {
      await enqueue('a', 'b');
      await queue.release(await leaseNext());
      expect(await queue.counts()).toEqual({ waiting: 2, leased: 0 });
      expect(await leaseNext()).toMatchObject({ traceId: 'a', isRedelivered: false });
    });

    it('is no redelivery after a release, whatever was before', async () => {
      await enqueue('a');
      await leaseNext(1_000);
      opened.clock.now += 1_000;
      await queue.release(await leaseNext(1_000));
      expect((await leaseNext()).isRedelivered).toBe(false);
    });

    it('releases in a transaction with the rest of it', async () => {
      await enqueue('a');
      const lease = await leaseNext();
      const releasing = opened.database.transaction(async (transaction) => {
        await queue.release(lease, transaction);
        throw new Error('no');
      });
      await expect(releasing).rejects.toThrow('no');
      expect(await queue.lease('worker-2')).toBeUndefined();
      await opened.database.transaction((transaction) => queue.release(lease, transaction));
      expect(await leaseNext()).toMatchObject({ traceId: 'a' });
    });

    it('calls back after each enqueue and release, when the entry can be had, until it is stopped', async () => {
      const found: (string | undefined)[] = [];
      let asked: Promise<unknown> = Promise.resolve();
      const stop = queue.onEntry(() => {
        asked = asked.then(async () => found.push((await queue.lease('worker-1'))?.traceId));
      });
      const calls = async (count: number) => {
        while (found.length < count) await nextTurn().then(() => asked);
      };
      await enqueue('a');
      await calls(1);
      await opened.database.transaction(async (transaction) => {
        await queue.enqueue({ traceId: 'b', priority: 0 }, transaction);
      });
      await calls(2);
      expect(found).toEqual(['a', 'b']);
      stop();
      stop();
      await enqueue('c');
      await nextTurn();
      await nextTurn();
      expect(found).toHaveLength(2);
      expect(await queue.counts()).toEqual({ waiting: 1, leased: 2 });
    });
  });
}
