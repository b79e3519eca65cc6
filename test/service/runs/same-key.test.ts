import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { sharedPostgres } from '../../postgres.ts';
import { COUNT_TO_3 } from '../../rollout/seats/seat.ts';
import { APP_URL, openParts, startService, type TestService, temporaryDirectory } from './service.ts';

vi.setConfig({ testTimeout: 60_000 });

const STORES = ['SQLite', 'Postgres'] as const;

const KINDS = {
  run: ['/v1/agent/run', async () => ({ ...COUNT_TO_3, model: 'proctor/oracle' })],
  evaluation: ['/v1/evaluations', async () => ({ tasks: tasks(2), models: ['proctor/oracle'] })],
  seat: ['/v1/agent/seats', async () => COUNT_TO_3],
  job: ['/v1/training/jobs', (service: TestService) => trainingOn(service)],
} as const;
const CASES = STORES.flatMap((store) => (Object.keys(KINDS) as (keyof typeof KINDS)[]).map((kind) => [kind, store]));

describe('six requests at the same time with one Idempotency-Key', () => {
  it.each(CASES as [keyof typeof KINDS, (typeof STORES)[number]][])(
    'for a %s at two services of one %s all get the same answer, and another body is refused',
    async (kind, store) => {
      const services = await twoServices(store);
      const [path, toBody] = KINDS[kind];
      const body = await toBody(services[0]);
      const send = (service: TestService, change = {}) =>
        service.request(path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'idempotency-key': 'once', host: HOST },
          body: JSON.stringify({ ...body, ...change }),
        });
      const places = [services[0], services[0], services[0], services[1], services[1], services[1]];
      const replies = await Promise.all(places.map((service) => send(service)));
      expect(replies.map(({ status }) => status)).toEqual(places.map(() => 200));
      expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
      const again = await Promise.all(services.map((service) => send(service)));
      expect(new Set([...again, ...replies].map(({ text }) => text)).size).toBe(1);
      for (const service of services) {
        const other = await send(service, { metadata: { other: 'body' } });
        expect(other).toMatchObject({ status: 409, json: { error: { code: 'idempotency_conflict' } } });
      }
    },
  );

  it('gives all of them the refusal of the first, and leaves the key unused', async () => {
    const service = await startService({ worker: false });
    const headers = { 'idempotency-key': 'once' };
    const replies = await Promise.all(
      Array.from({ length: 6 }, () => service.run({ scenario_name: 'nothing' }, headers)),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 404));
    expect((await service.run({}, headers)).status).toBe(200);
    expect(await service.countRuns()).toBe(1);
  });
});

/** Replies that name addresses name those by which the client came. */
const HOST = 'proctor.example';

async function twoServices(store: (typeof STORES)[number]): Promise<[TestService, TestService]> {
  // One process opens a SQLite database once: two connections of it would wait for each other in the same thread.
  const shared = store === 'SQLite' ? await openParts(`sqlite:${temporaryDirectory()}/shared.db`) : undefined;
  const url = shared === undefined ? await (await sharedPostgres()).createDatabase() : '';
  const start = async () => {
    const parts = shared ?? (await openParts(url));
    const options = { worker: false, allowedHosts: [HOST], directory: temporaryDirectory() } as const;
    return await startService({
      ...options,
      parts: { ...parts, store: createTraceStore(parts.database, { appUrl: APP_URL }) },
    });
  };
  return [await start(), await start()];
}

function tasks(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    id: `count-${index}`,
    env: 'counter',
    scenario: 'count_to',
    args: { target: 3 + index },
  }));
}

/** A job on the runs of an evaluation, which a third service has played. */
async function trainingOn({ database, store, queue, accounts }: TestService): Promise<object> {
  const player = await startService({ parts: { database, store, queue, accounts } });
  const begun = await player.request('/v1/evaluations', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tasks: tasks(12), models: ['proctor/oracle'] }),
  });
  const { evaluation_id } = z.object({ evaluation_id: z.string() }).parse(begun.json);
  const ended = await player.request(`/v1/evaluations/${evaluation_id}?wait=60`);
  expect(ended.json).toMatchObject({ status: 'completed' });
  await player.close();
  return {
    name: 'better',
    base: 'proctor/noop',
    provider: 'proctor/imitation',
    from: { evaluations: [evaluation_id] },
    select: { include_reference: true, validation: 0 },
    evaluate: null,
  };
}
