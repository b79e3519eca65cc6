import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createDatabaseQueue } from '../../../src/store/queue/database-queue.ts';
import { LeaseRenewer } from '../../../src/store/queue/lease-keeper.ts';
import type { Lease, RunQueue } from '../../../src/store/queue/run-queue.ts';
import { createLeaseKeeper, type LeaseKeeperOptions } from '../../../src/store/queue/threaded-lease-keeper.ts';

const LEASE_MS = 2_000;
/** A thread takes a while to start on a busy machine. */
const STARTED = { timeout: 20_000 };
const FAST = { renewEveryMs: 50, startAfterMs: 0 };

async function open(url: string): Promise<{ readonly database: Database; readonly queue: RunQueue }> {
  const database = await openDatabase(url);
  onTestFinished(() => database.close());
  return { database, queue: createDatabaseQueue(database) };
}

function inFile(): ReturnType<typeof open> {
  return open(`sqlite:${join(tmpdir(), `proctor-leases-${randomBytes(6).toString('hex')}`, 'proctor.db')}`);
}

async function lease(queue: RunQueue): Promise<Lease> {
  await queue.enqueue({ traceId: randomBytes(16).toString('hex'), priority: 0, envName: 'counter', keyId: null });
  const taken = (await queue.lease('me', { leaseMs: LEASE_MS }))[0];
  if (taken === undefined) throw new Error('There is no entry');
  return taken;
}

async function leaseEnds(database: Database): Promise<number> {
  const { lease_until } = await database.kysely.selectFrom('queue').select('lease_until').executeTakeFirstOrThrow();
  return lease_until ?? 0;
}

function keeperOf(queue: RunQueue, options: LeaseKeeperOptions = FAST) {
  const keeper = createLeaseKeeper(queue, options);
  onTestFinished(() => keeper.close());
  return keeper;
}

/** Holds the event loop of this process, as a long computation does. */
function blockFor(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

test('a lease outlives an event loop that is blocked for longer than the lease', async () => {
  const { database, queue } = await inFile();
  const held = await lease(queue);
  const lost: Error[] = [];
  const before = await leaseEnds(database);
  keeperOf(queue).keep(held, (error) => lost.push(error));
  await expect.poll(() => leaseEnds(database), STARTED).toBeGreaterThan(before);
  blockFor(1.5 * LEASE_MS);
  const other = createDatabaseQueue(database);
  expect((await other.lease('somebody else'))[0]).toBeUndefined();
  expect(lost).toEqual([]);
});

test.each(['in a thread', 'in this process'])(
  'a lease that another worker took is reported once, %s',
  async (where) => {
    const { database, queue } = await (where === 'in a thread' ? inFile() : open('sqlite::memory:'));
    const held = await lease(queue);
    const lost: Error[] = [];
    keeperOf(queue).keep(held, (error) => lost.push(error));
    await database.kysely.updateTable('queue').set({ lease_token: 'other' }).execute();
    await expect.poll(() => lost.map(({ name }) => name), STARTED).toEqual(['LeaseLostError']);
  },
);

test('a lease that ran out while the database does not answer is reported once, before it answers', async () => {
  let answer = (_lost: readonly Lease[]) => {};
  const answered = new Promise<readonly Lease[]>((resolve) => {
    answer = resolve;
  });
  const renewer = new LeaseRenewer({ renew: () => answered }, { renewEveryMs: 10 });
  const lost: string[] = [];
  renewer.keep({ traceId: 'run', token: 'token', leaseMs: 50 } as Lease, ({ name }) => lost.push(name));
  await expect.poll(() => lost).toEqual(['LeaseLostError']);
  answer([]);
  await renewer.close();
  expect(lost).toEqual(['LeaseLostError']);
});

test('a lease that is dropped is renewed no more, and is not reported as lost', async () => {
  const { database, queue } = await inFile();
  const [first, second] = [await lease(queue), await lease(queue)];
  const lost: string[] = [];
  const keeper = keeperOf(queue);
  const drop = keeper.keep(first, () => lost.push('first'));
  keeper.keep(second, () => lost.push('second'));
  drop();
  await database.kysely.updateTable('queue').set({ lease_token: 'other' }).execute();
  await expect.poll(() => lost, STARTED).toEqual(['second']);
});

test('a database that is away for a moment loses no lease; one that stays away does', async () => {
  let isAway = true;
  const asked: number[] = [];
  const renewer = new LeaseRenewer(
    {
      async renew() {
        asked.push(performance.now());
        if (isAway) throw new Error('The database is away');
        return [];
      },
    },
    { renewEveryMs: 10 },
  );
  onTestFinished(() => renewer.close());
  const lost: string[] = [];
  const held = { traceId: 'a', worker: 'me', isRedelivered: false };
  renewer.keep({ ...held, token: 'long', leaseMs: 60_000 }, () => lost.push('long'));
  renewer.keep({ ...held, token: 'short', leaseMs: 50 }, () => lost.push('short'));
  await expect.poll(() => lost, STARTED).toEqual(['short']);
  isAway = false;
  const before = asked.length;
  await expect.poll(() => asked.length, STARTED).toBeGreaterThan(before + 1);
  expect(lost).toEqual(['short']);
});

test('a thread that cannot open the database leaves the renewal to its process', async () => {
  const { database, queue } = await open('sqlite::memory:');
  const held = await lease(queue);
  const warnings: unknown[] = [];
  const broken: RunQueue = { ...queue, leaseAddress: 'sqlite://nowhere/proctor.db' };
  const before = await leaseEnds(database);
  keeperOf(broken, { ...FAST, warn: (error) => warnings.push(error) }).keep(held, () => {});
  await expect.poll(() => warnings.length, STARTED).toBe(1);
  await expect.poll(() => leaseEnds(database), STARTED).toBeGreaterThan(before);
});
