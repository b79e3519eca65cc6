import { expect, it } from 'vitest';
import { inMemory } from '../../src/mcp/in-memory.ts';
import { checkEnvironments } from '../../src/trust/check/check-environments.ts';
import { startPlayed, stepOf } from '../training/played.ts';
import paysIdleness from './unsound/pays-idleness.ts';

it('leaves traces that can be read, and that no summary, usage or dataset counts', { timeout: 120_000 }, async () => {
  const service = await startPlayed(() => ({ content: 'Done' }));
  const { store } = service;
  const target = inMemory(paysIdleness);
  const { environments } = await checkEnvironments([{ name: 'shelf', target }], { store, tasks: 1 });
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
  expect(await store.usage({ account: 'local' })).toMatchObject([{ runs: 0 }]);
  for (const filter of [{}, { origin: 'check' as const }]) {
    const { manifest, train } = await service.build({ filter }, { select: { include_reference: true, min_reward: 0 } });
    expect(train).toEqual([]);
    expect(stepOf(manifest, 'select')?.dropped).toEqual({ origin_check: 1 });
  }
});
