import { expect, it } from 'vitest';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { checkEnvironments } from '../../../src/evaluation/checks/check-environments.ts';
import { openParts } from '../../service/runs/service.ts';
import { startPlayed, stepOf } from '../../training/played.ts';
import paysIdleness from './unsound/pays-idleness.ts';

it('leaves traces that can be read, and that no usage or dataset counts, and no summary that did not ask', {
  timeout: 120_000,
}, async () => {
  const service = await startPlayed(() => ({ content: 'Done' }));
  const { store } = service;
  const target = inMemory(paysIdleness);
  const { database } = service;
  const keeping = { store: { database, redactor: store.redactor }, tasks: 1 };
  const { environments } = await checkEnvironments([{ name: 'shelf', target }], keeping);
  const [finding] = environments[0]?.findings ?? [];
  expect(finding).toMatchObject({ finding: 'idle', level: 'error', trace_id: expect.any(String) });
  expect(await store.trace(String(finding?.trace_id))).toMatchObject({
    origin: 'check',
    status: 'completed',
    reward: 1,
  });

  const listed = await service.request('/v1/traces?origin=check');
  expect(listed.json).toMatchObject({ data: [{ origin: 'check' }] });
  expect(await store.summary({ account: 'local' })).toMatchObject({ count: 0 });
  const asked = { account: 'local', origin: 'check' } as const;
  expect(await store.summary(asked)).toMatchObject({ count: 1, mean_reward: 1, by_status: { completed: 1 } });
  expect(await store.summary({ ...asked, envName: 'elsewhere' })).toMatchObject({ count: 0 });
  for (const groupBy of [undefined, 'env', 'model', 'day', 'key'] as const) {
    const usage = await store.usage({ account: 'local', ...(groupBy && { groupBy }) });
    expect([groupBy, usage.filter(({ runs }) => runs > 0)]).toEqual([groupBy, []]);
  }
  for (const filter of [{}, { origin: 'check' as const }]) {
    const { manifest, train } = await service.build({ filter }, { select: { include_reference: true, min_reward: 0 } });
    expect(train).toEqual([]);
    expect(stepOf(manifest, 'select')?.dropped).toEqual({ origin_check: 1 });
  }
  expect(await store.remove(String(finding?.trace_id))).toBe(true);
  expect(await store.summary(asked)).toMatchObject({ count: 0 });
  expect(await service.database.kysely.selectFrom('outcomes').select('trace_id').execute()).toEqual([]);
});

it('a report is whole where its traces cannot be kept', async () => {
  const { database, store } = await openParts();
  await database.close();
  const faults: unknown[] = [];
  const { environments } = await checkEnvironments([{ name: 'shelf', target: inMemory(paysIdleness) }], {
    ...{ tasks: 1, store: { database, redactor: store.redactor } },
    onUnkept: (error) => void faults.push(error),
  });
  expect(environments[0]?.findings[0]).toMatchObject({ finding: 'idle', level: 'error', trace_id: null });
  expect(faults).not.toEqual([]);
});
