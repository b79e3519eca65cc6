import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { LEASE } from '../../src/store/queue/run-queue.ts';
import { openGateway, says } from '../gateway.ts';
import { ownPostgres } from '../postgres.ts';
import { startRedis } from '../redis.ts';
import { until } from '../until.ts';
import { createDeployment, type Deployment, temporaryDirectory, traceIdOf } from './deployment.ts';
import { HAS_REDIS, IS_FULL, SIDE_BY_SIDE } from './form.ts';
import type { Ending } from './nothing-lost.ts';
import { sendRuns, work } from './progress.ts';
import { mountSmallDisk, whyNoSmallDisk } from './small-disk.ts';
import { openStores } from './stores.ts';

const SETTLED_WITHIN_MS = 300_000;
/** Until so many runs more have ended: what goes on after a fault, on a busy machine. */
const GOES_ON_WITHIN_MS = 120_000;
/** Longer than a lease, and than a write waits. The outage is the fault: nothing tells its end. */
const AWAY_MS = 2.5 * LEASE.durationMs;

/** Runs that take a while, some of them in a process. */
const mixed = (index: number) => work(index % (IS_FULL ? 10 : 40) === 5 ? 'heavy' : 'light', 3, 200);

/** A server and two workers; in the short form one process less, as each costs a second. */
async function startAll(deployment: Deployment): Promise<number> {
  const { port } = await deployment.start(IS_FULL ? 'server' : 'both');
  await deployment.start('worker');
  if (IS_FULL) await deployment.start('worker');
  return port;
}
const failuresOf = (ends: ReadonlyMap<string, Ending>) =>
  [...ends.values()].filter(({ status }) => status !== 'completed');

describe('Postgres', SIDE_BY_SIDE, () => {
  test('that is restarted and killed under load, with the store and the queue on it: every run ends, once', async (context) => {
    const server = await ownPostgres();
    context.onTestFinished(() => server.close());
    const databaseUrl = await server.createDatabase();
    const fault = 'Postgres restarted and killed';
    const variables = { CONCURRENCY: IS_FULL ? '20' : '8' };
    const deployment = await createDeployment(context, { fault, stores: { databaseUrl }, variables });
    const port = await startAll(deployment);
    const load = sendRuns(deployment, port, { clients: 4, limit: IS_FULL ? 2_000 : 60, body: mixed });
    const more = IS_FULL ? 50 : 10;
    const faults = IS_FULL ? (['restart', 'kill', 'restart', 'kill', 'stop'] as const) : (['restart', 'kill'] as const);
    for (const each of faults) {
      await load.moreEnded(more, GOES_ON_WITHIN_MS);
      await server.command(each);
      if (each === 'stop') await sleep(AWAY_MS);
      if (each !== 'restart') await server.command('start');
    }
    await load.moreEnded(more, GOES_ON_WITHIN_MS);
    const ends = await deployment.settle(await load.stop(), SETTLED_WITHIN_MS);
    expect(failuresOf(ends)).toEqual([]);
  });
});

describe.skipIf(!HAS_REDIS)('Redis', SIDE_BY_SIDE, () => {
  test('that is flushed under load: the queue is rebuilt from the rows, and every run ends, once', async (context) => {
    const redis = await startRedis();
    context.onTestFinished(() => redis.close());
    // The rows on what is started soonest, in the short form.
    const { databaseUrl } = await openStores(
      IS_FULL ? 'postgres' : 'sqlite',
      temporaryDirectory(context.onTestFinished),
    );
    const deployment = await createDeployment(context, {
      fault: 'Redis flushed',
      stores: { databaseUrl, queueUrl: redis.url },
      variables: { CONCURRENCY: '8' },
    });
    const port = await startAll(deployment);
    const load = sendRuns(deployment, port, { clients: 4, limit: IS_FULL ? 1_000 : 50, body: mixed });
    for (let flushes = 0; flushes < (IS_FULL ? 4 : 1); flushes += 1) {
      await load.moreEnded(IS_FULL ? 50 : 10, GOES_ON_WITHIN_MS);
      await redis.flush();
    }
    await load.moreEnded(10, GOES_ON_WITHIN_MS);
    const ends = await deployment.settle(await load.stop(), SETTLED_WITHIN_MS);
    expect(failuresOf(ends)).toEqual([]);
  });
});

const noDisk = whyNoSmallDisk();
if (noDisk !== undefined) console.warn(`skipped: a disk that is full, since ${noDisk}`);

describe.skipIf(noDisk !== undefined)('a disk that is full', SIDE_BY_SIDE, () => {
  test('refuses new runs in words, harms nothing that is there, and goes on when there is room again', async (context) => {
    const disk = await mountSmallDisk(IS_FULL ? 64 : 24);
    context.onTestFinished(() => disk.close());
    const deployment = await createDeployment(context, {
      fault: 'disk full',
      directory: disk.directory,
      variables: { CONCURRENCY: '8' },
    });
    const port = await startAll(deployment);
    const load = sendRuns(deployment, port, { clients: 4, limit: IS_FULL ? 1_000 : 50, body: mixed });
    await load.moreEnded(10, GOES_ON_WITHIN_MS);
    disk.fill();
    const accepted = await untilRefused(deployment, port);
    // What is there can be read, while it lasts and by those that do not know.
    expect((await deployment.request(port, '/v1/traces?limit=1')).status).toBe(200);
    expect((await deployment.request(port, '/healthz')).status).toBe(200);
    await sleep(IS_FULL ? 20_000 : 3_000);
    expect(await untilRefused(deployment, port)).toEqual([]);
    disk.free();
    await load.moreEnded(10, GOES_ON_WITHIN_MS);
    const after = await deployment.run(port, work('light', 1, 0));
    const ends = await deployment.settle([...(await load.stop()), ...accepted, after], SETTLED_WITHIN_MS);
    expect(failuresOf(ends)).toEqual([]);
  });
});

/** What fits into the space that the database has already is still accepted. @returns that. */
async function untilRefused(deployment: Deployment, port: number): Promise<readonly string[]> {
  const accepted: string[] = [];
  const send = async () => {
    const key = randomBytes(8).toString('hex');
    const body = { ...work('light', 1, 0), model: 'proctor/oracle', sampling: { note: 'x'.repeat(60_000) } };
    const reply = await deployment.request(port, '/v1/agent/run', body, key);
    if (reply.status === 200) accepted.push(traceIdOf(reply));
    expect([reply.status, reply.headers['retry-after']]).toEqual([503, '30']);
    expect(reply.json).toMatchObject({
      error: {
        type: 'server_error',
        code: 'store_unavailable',
        message: expect.stringMatching(/disk of the store is full/),
      },
    });
    return accepted;
  };
  return await until(send, { withinMs: GOES_ON_WITHIN_MS });
}

describe('a gateway', SIDE_BY_SIDE, () => {
  test('that is away for a minute fails what asks it meanwhile, after its retries, and nothing else', async (context) => {
    const gateway = await openGateway(says('done'));
    context.onTestFinished(() => gateway.close());
    const variables = { GATEWAY_URL: gateway.url };
    const deployment = await createDeployment(context, { fault: 'gateway away', variables });
    const { port } = await deployment.start('both');
    const ask = () => deployment.run(port, { ...work('light', 1, 0), model: 'talker' });
    const askTogether = () => Promise.all(Array.from({ length: 10 }, ask));
    const before = await askTogether();
    await until(async () => expect(await endsOf(deployment, before)).toEqual(['completed']), {
      withinMs: GOES_ON_WITHIN_MS,
    });
    await gateway.goAway();
    const meanwhile: string[] = [];
    for (const endsAt = performance.now() + (IS_FULL ? 60_000 : 2_000); performance.now() < endsAt; ) {
      meanwhile.push(...(await askTogether()));
      await sleep(1_000);
    }
    const unaffected = await deployment.run(port, work('heavy', 1, 0));
    await until(async () => expect(await endsOf(deployment, meanwhile)).toEqual(['failed']), {
      withinMs: GOES_ON_WITHIN_MS,
    });
    await gateway.comeBack();
    const after = await askTogether();
    const ends = await deployment.settle([...before, ...meanwhile, unaffected, ...after], SETTLED_WITHIN_MS);
    expect([unaffected, ...after].map((id) => ends.get(id)?.status)).toEqual(Array(11).fill('completed'));
    expect(await deployment.store.trace(meanwhile[0] ?? '')).toMatchObject({
      stop_reason: 'error',
      attempt: 1,
      error: { boundary: 'model' },
    });
  });
});

/** Each different one once. */
async function endsOf({ store }: Deployment, traceIds: readonly string[]): Promise<readonly unknown[]> {
  const rows = await Promise.all(traceIds.map((id) => store.row(id)));
  return [...new Set(rows.map((row) => row?.status))];
}
