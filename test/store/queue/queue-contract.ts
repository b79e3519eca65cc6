import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import type { LeaseFilter, RunQueue } from '../../../src/store/queue/run-queue.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { until } from '../../until.ts';
import { newTrace } from '../traces/events.ts';

export interface QueueUnderTest {
  readonly queue: RunQueue;
  /** On another connection, as another process has it. */
  readonly other: RunQueue;
  /** Whose transactions an entry may be part of. */
  readonly database: Database;
  /** Of a lease that does not say. */
  readonly leaseMs: number;
  /** Lets so many milliseconds pass for both. */
  pass(ms: number): Promise<void>;
  /** Whether a lease runs out in the very millisecond, and a holder that is late keeps it while nobody takes it. */
  readonly isExact: boolean;
  close(): Promise<void>;
}

/** What every run queue promises. */
export function describeRunQueue(name: string, open: () => Promise<QueueUnderTest>): void {
  describe(`the run queue on ${name}`, { timeout: 60_000 }, () => {
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
        await opened.pass(1);
      }
    }

    async function leaseNext(from = queue) {
      const lease = (await from.lease('worker-1'))[0];
      if (lease === undefined) throw new Error('an entry is expected');
      return lease;
    }

    /** What is given again once a lease has run out: at once, or when the queue looks for it. */
    async function leaseAgain(from = other) {
      for (let waitedMs = opened.leaseMs; ; waitedMs += 50) {
        await opened.pass(waitedMs === opened.leaseMs ? waitedMs : 50);
        const lease = (await from.lease('worker-2'))[0];
        if (lease !== undefined) return lease;
        if (waitedMs > 10 * opened.leaseMs) throw new Error('the entry is not given again');
      }
    }

    it('gives nothing where there is nothing', async () => {
      expect((await queue.lease('worker-1'))[0]).toBeUndefined();
      expect(await queue.counts()).toEqual({ waiting: 0, leased: 0 });
    });

    it('gives each entry to one worker, the oldest first', async () => {
      await enqueue('a', 'b', 'c');
      const leases = [
        (await queue.lease('worker-1'))[0],
        (await other.lease('worker-2'))[0],
        (await queue.lease('worker-1'))[0],
      ];
      expect(leases).toMatchObject([
        { traceId: 'a', worker: 'worker-1', leaseMs: opened.leaseMs, isRedelivered: false },
        { traceId: 'b', worker: 'worker-2' },
        { traceId: 'c', worker: 'worker-1' },
      ]);
      expect(new Set(leases.map((lease) => lease?.token)).size).toBe(3);
      expect((await other.lease('worker-2'))[0]).toBeUndefined();
    });

    it('loses an entry that is withdrawn while it waits, and not one that is held', async () => {
      await enqueue('a', 'b');
      const held = await leaseNext();
      for (const traceId of ['a', 'b', 'none']) await queue.withdraw(traceId);
      expect(await queue.counts()).toEqual({ waiting: 0, leased: 1 });
      expect((await other.lease('worker-2'))[0]).toBeUndefined();
      expect(await queue.renew([held])).toEqual([]);
    });

    it('gives the highest priority first', async () => {
      await queue.enqueue({ traceId: 'low', priority: 0 });
      await opened.pass(1);
      await queue.enqueue({ traceId: 'high', priority: 9 });
      await opened.pass(1);
      await queue.enqueue({ traceId: 'also-high', priority: 9 });
      const order = [await leaseNext(), await leaseNext(), await leaseNext()].map(({ traceId }) => traceId);
      expect(order).toEqual(['high', 'also-high', 'low']);
    });

    it('holds a trace once, and a second enqueue does not take it from its holder', async () => {
      await enqueue('a', 'a');
      const lease = await leaseNext();
      await enqueue('a');
      expect(await queue.counts()).toEqual({ waiting: 0, leased: 1 });
      expect(await queue.renew([lease])).toEqual([]);
    });

    it('adds an entry in a transaction with the rest of it, or not at all', async () => {
      const adding = opened.database.transaction(async (transaction) => {
        await queue.enqueue({ traceId: 'a', priority: 0 }, transaction);
        throw new Error('no');
      });
      await expect(adding).rejects.toThrow('no');
      expect((await queue.lease('worker-1'))[0]).toBeUndefined();
      await opened.database.transaction((transaction) => queue.enqueue({ traceId: 'b', priority: 0 }, transaction));
      expect(await leaseNext()).toMatchObject({ traceId: 'b' });
    });

    it('adds an entry that its worker holds from the start', async () => {
      const lease = await opened.database.transaction((transaction) =>
        queue.enqueueLeased({ traceId: 'a', priority: 0 }, 'worker-1', transaction),
      );
      expect(lease).toMatchObject({ traceId: 'a', worker: 'worker-1', leaseMs: opened.leaseMs, isRedelivered: false });
      expect(await queue.renew([lease])).toEqual([]);
      expect((await other.lease('worker-2'))[0]).toBeUndefined();
      expect(await queue.counts()).toEqual({ waiting: 0, leased: 1 });
      expect(await leaseAgain()).toMatchObject({ traceId: 'a', isRedelivered: true });
      expect(await queue.renew([lease])).toEqual([lease]);
    });

    it('completes and releases what its worker held from the start', async () => {
      const add = (traceId: string) =>
        opened.database.transaction((transaction) =>
          queue.enqueueLeased({ traceId, priority: 0 }, 'worker-1', transaction),
        );
      await queue.complete(await add('a'));
      expect(await queue.counts()).toEqual({ waiting: 0, leased: 0 });
      await queue.release(await add('b'));
      expect(await leaseNext(other)).toMatchObject({ traceId: 'b', isRedelivered: false });
    });

    it('gives an entry again when its lease has run out, and says so', async () => {
      await enqueue('a');
      const lost = await leaseNext();
      if (opened.isExact) await opened.pass(opened.leaseMs - 1);
      expect((await other.lease('worker-2'))[0]).toBeUndefined();
      if (opened.isExact) {
        await opened.pass(1);
        expect(await queue.counts()).toEqual({ waiting: 1, leased: 0 });
      }
      const taken = await leaseAgain();
      expect(taken).toMatchObject({ traceId: 'a', isRedelivered: true });
      expect(taken.token).not.toBe(lost.token);
    });

    it('holds an entry for as long as its lease says', async () => {
      await enqueue('a');
      const leaseMs = 3 * opened.leaseMs;
      const lease = (await queue.lease('worker-1', { leaseMs }))[0];
      expect(lease).toMatchObject({ traceId: 'a', leaseMs });
      await opened.pass(2 * opened.leaseMs);
      expect((await other.lease('worker-2'))[0]).toBeUndefined();
    });

    it('keeps an entry for a holder that renews', async () => {
      await enqueue('a');
      const lease = await leaseNext();
      for (let round = 0; round < 5; round++) {
        await opened.pass(opened.leaseMs / 2);
        expect(await queue.renew([lease])).toEqual([]);
        expect((await other.lease('worker-2'))[0]).toBeUndefined();
      }
    });

    it('lets a holder that was late renew as long as nobody took the entry, where time is exact', async () => {
      await enqueue('a');
      const lease = await leaseNext();
      if (!opened.isExact) return;
      await opened.pass(5 * opened.leaseMs);
      expect(await queue.renew([lease])).toEqual([]);
      expect((await other.lease('worker-2'))[0]).toBeUndefined();
    });

    it('does not let a holder that lost its lease renew, complete or release the next one', async () => {
      await enqueue('a');
      const lost = await leaseNext();
      const taken = await leaseAgain();
      expect(await queue.renew([lost])).toEqual([lost]);
      await queue.complete(lost);
      await queue.release(lost);
      expect((await other.lease('worker-3'))[0]).toBeUndefined();
      expect(await other.renew([taken])).toEqual([]);
    });

    it('forgets an entry that was completed', async () => {
      await enqueue('a');
      const lease = await leaseNext();
      await queue.complete(lease);
      expect(await queue.renew([lease])).toEqual([lease]);
      await opened.pass(2 * opened.leaseMs);
      expect((await queue.lease('worker-1'))[0]).toBeUndefined();
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
      await leaseNext();
      await other.release(await leaseAgain());
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
      expect((await queue.lease('worker-2'))[0]).toBeUndefined();
      expect(await queue.renew([lease])).toEqual([]);
      await opened.database.transaction((transaction) => queue.release(lease, transaction));
      expect(await leaseNext()).toMatchObject({ traceId: 'a' });
    });

    it('says which runs have no entry', async () => {
      await enqueue('a', 'b', 'c');
      await leaseNext();
      await queue.complete(await leaseNext());
      expect(await other.missing(['a', 'b', 'c', 'd'])).toEqual(['b', 'd']);
      expect(await other.missing([])).toEqual([]);
    });

    it('passes over what the filter does not let through, and gives it to the next who may have it', async () => {
      const store = createTraceStore(opened.database, { appUrl: 'http://127.0.0.1:8320' });
      const runs: Record<string, string> = {};
      for (const [env_name, keyId] of [
        ['one', 'key-1'],
        ['one', null],
        ['two', 'key-1'],
        ['two', 'key-2'],
      ] as const) {
        const trace = { ...newTrace({ env_name }), keyId };
        await store.create(trace, (transaction) => queue.enqueue({ traceId: trace.traceId, priority: 0 }, transaction));
        runs[`${env_name} ${keyId}`] = trace.traceId;
        await opened.pass(1);
      }
      const take = async (filter: LeaseFilter) => (await queue.lease('worker-1', { filter }))[0]?.traceId;
      expect(await take({ onlyEnvironments: ['two'], exceptKeys: ['key-1'] })).toBe(runs['two key-2']);
      expect(await take({ onlyEnvironments: ['three'] })).toBeUndefined();
      expect(await take({ exceptEnvironments: ['one', 'two'] })).toBeUndefined();
      const others = new Set<string | undefined>();
      for (let waitedMs = 0; others.size < 3 && waitedMs < 10_000; waitedMs += 50) {
        others.add(await take({ exceptKeys: ['key-2'] }));
        others.delete(undefined);
        await opened.pass(50);
      }
      expect([...others].sort()).toEqual([runs['one key-1'], runs['one null'], runs['two key-1']].sort());
    });

    it('gives the run of a trace that is asked for, before older ones, and no other in its place', async () => {
      for (const traceId of ['a', 'b', 'c']) {
        await queue.enqueue({ traceId, priority: 0, envName: 'open', keyId: null });
        await opened.pass(1);
      }
      const take = async (traceId: string) => {
        const [lease] = await queue.lease('worker-1', { filter: { onlyTraces: [traceId] } });
        return lease?.traceId;
      };
      expect([await take('b'), await take('b'), await take('none')]).toEqual(['b', undefined, undefined]);
      expect(await leaseNext()).toMatchObject({ traceId: 'a' });
    });

    it('reaches an entry behind many that the filter does not let through, however often it is asked', async () => {
      for (let entry = 0; entry < 60; entry++) {
        await queue.enqueue({ traceId: `full-${entry}`, priority: 9, envName: 'full', keyId: 'key-1' });
      }
      await queue.enqueue({ traceId: 'free', priority: 0, envName: 'open', keyId: null });
      let found = (await queue.lease('worker-1', { filter: { exceptEnvironments: ['full'] } }))[0];
      for (let calls = 1; found === undefined && calls < 10; calls++) {
        await opened.pass(1_100);
        found = (await queue.lease('worker-1', { filter: { exceptEnvironments: ['full'] } }))[0];
      }
      expect(found).toMatchObject({ traceId: 'free' });
    });

    it('keeps what it passed over: counted, not missing, once, withdrawn when its run ends', async () => {
      const filter = { exceptEnvironments: ['full'] };
      for (const traceId of ['a', 'b']) await queue.enqueue({ traceId, priority: 0, envName: 'full', keyId: null });
      expect((await queue.lease('worker-1', { filter }))[0]).toBeUndefined();
      expect(await other.counts()).toEqual({ waiting: 2, leased: 0 });
      expect(await other.missing(['a', 'b', 'c'])).toEqual(['c']);
      await other.withdraw('a');
      expect(await queue.missing(['a', 'b'])).toEqual(['a']);
      const lease = await leaseNext(other);
      expect(lease).toMatchObject({ traceId: 'b', isRedelivered: false });
      expect(await other.renew([lease])).toEqual([]);
      expect(await queue.counts()).toEqual({ waiting: 0, leased: 1 });
      await other.complete(lease);
      expect(await queue.counts()).toEqual({ waiting: 0, leased: 0 });
    });

    it('says of an entry whose lease ran out that it did, also where it was passed over meanwhile', async () => {
      await queue.enqueue({ traceId: 'a', priority: 0, envName: 'full', keyId: 'key-1' });
      await leaseNext();
      const filter = { exceptEnvironments: ['full'] };
      for (let waitedMs = 0; waitedMs <= 3 * opened.leaseMs; waitedMs += 250) {
        expect((await other.lease('worker-2', { filter }))[0]).toBeUndefined();
        await opened.pass(250);
      }
      // A key that has no place holds no run back that had its place already.
      const taken = (await other.lease('worker-2', { filter: { exceptKeys: ['key-1'] } }))[0];
      expect(taken).toMatchObject({ traceId: 'a', isRedelivered: true });
    });

    it('calls back after each enqueue and release, when the entry can be had, until it is stopped', async () => {
      const found: string[] = [];
      let asked: Promise<unknown> = Promise.resolve();
      // It may call more often than there are entries: somebody else may have been told of the same one.
      const stop = queue.onEntry(() => {
        asked = asked.then(async () => {
          const lease = (await queue.lease('worker-1'))[0];
          if (lease !== undefined) found.push(lease.traceId);
        });
      });
      const calls = async (count: number) => {
        await until(() => found.length >= count);
        await asked;
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
