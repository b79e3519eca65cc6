import { describe, expect, it } from 'vitest';
import { traceTotalsSchema, usageListSchema } from '../../../src/contract/service/totals.ts';
import { startService, traceIdOf } from './service.ts';

describe('GET /v1/traces/summary', () => {
  it('summary.form: counts, rewards and tokens of the caller’s traces', async () => {
    const service = await startService();
    for (const model of ['proctor/oracle', 'proctor/noop', 'proctor/oracle']) {
      await service.run({ model, metadata: { team: 'a' } }, { prefer: 'wait=60' });
    }
    const { json, status } = await service.request('/v1/traces/summary');
    expect({ status, json }).toEqual({
      status: 200,
      json: {
        object: 'summary',
        count: 3,
        by_status: { queued: 0, running: 0, completed: 3, failed: 0, cancelled: 0 },
        with_reward: 3,
        mean_reward: 2 / 3,
        pass_rate: 2 / 3,
        histogram: [1, 0, 0, 0, 0, 0, 0, 0, 0, 2],
        tokens: { prompt: 0, completion: 0, total: 0 },
      },
    });
    expect(traceTotalsSchema.parse(json)).toEqual(json);
    const count = async (query: string) =>
      traceTotalsSchema.parse((await service.request(`/v1/traces/summary?${query}`)).json).count;
    expect(await count('model=proctor/noop')).toBe(1);
    expect(await count('min_reward=1&metadata.team=a')).toBe(2);
    expect(await count('metadata.team=b')).toBe(0);
    const split = await service.request('/v1/traces/summary?group_by=model&metadata.team=a');
    expect(traceTotalsSchema.parse(split.json).groups).toEqual([
      { group: 'proctor/oracle', count: 2, with_reward: 2, mean_reward: 1, pass_rate: 1 },
      { group: 'proctor/noop', count: 1, with_reward: 1, mean_reward: 0, pass_rate: 0 },
    ]);
    const { key } = await service.accounts.createKey({ name: 'other', account: 'other' });
    const foreign = await service.request('/v1/traces/summary', { headers: { authorization: `Bearer ${key}` } });
    expect(foreign.json).toMatchObject({ count: 0, mean_reward: null, pass_rate: null });
  });

  it.each([
    ['min_reward=x', 'min_reward'],
    ['status=done', 'status'],
    ['group_by=day', 'group_by'],
    ['since=yesterday', 'since'],
    ['metadata.=x', 'metadata.'],
    ['metadata.a=1&metadata.a=2', 'metadata.a'],
  ])('summary.query: %s is 400 with its name', async (query, param) => {
    const service = await startService({ worker: false });
    expect(await service.request(`/v1/traces/summary?${query}`)).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_parameter', param } },
    });
  });
});

describe('GET /v1/usage', () => {
  it('usage.form: of the account of the key, by what is asked for', async () => {
    const service = await startService();
    const id = (await service.accounts.listKeys())[0]?.id;
    await service.run({}, { prefer: 'wait=60' });
    await service.run({ model: 'proctor/noop' }, { prefer: 'wait=60' });
    const usage = async (query = '') => {
      const { json } = await service.request(`/v1/usage${query}`);
      expect(usageListSchema.parse(json)).toEqual(json);
      return usageListSchema.parse(json).data;
    };
    expect(await usage()).toMatchObject([{ group: null, runs: 2, total_tokens: 0 }]);
    const today = new Date().toISOString().slice(0, 10);
    expect((await usage('?group_by=day')).at(-1)).toMatchObject({ group: today });
    expect((await usage('?group_by=model')).map(({ group }) => group).sort()).toEqual([
      'proctor/noop',
      'proctor/oracle',
    ]);
    expect(await usage('?group_by=env')).toMatchObject([{ group: 'counter', runs: 2 }]);
    expect(await usage('?group_by=key')).toMatchObject([{ group: id, key_name: expect.any(String), runs: 2 }]);
    expect(await usage('?since=2999-01-01T00:00:00Z')).toMatchObject([{ runs: 0, compute_seconds: 0 }]);
    expect(await usage('?until=2999-01-01T00:00:00Z&group_by=env')).toHaveLength(1);
    const { key } = await service.accounts.createKey({ name: 'other', account: 'other' });
    const foreign = await service.request('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
    expect(foreign.json).toMatchObject({ data: [{ runs: 0 }] });
  });

  it.each([
    ['group_by=week', 'group_by'],
    ['since=1', 'since'],
    ['until=', 'until'],
  ])('usage.query: %s is 400 with its name', async (query, param) => {
    const service = await startService({ worker: false });
    expect(await service.request(`/v1/usage?${query}`)).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_parameter', param } },
    });
  });

  it('usage.key: a trace keeps the key that its run was asked for with', async () => {
    const service = await startService({ worker: false });
    const traceId = traceIdOf(await service.run());
    const [key] = await service.accounts.listKeys();
    expect(await service.store.row(traceId)).toMatchObject({ keyId: key?.id });
  });
});
