import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createServiceClient } from '../../../src/client/service-client.ts';
import type { JsonObject } from '../../../src/contract/json.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { startService } from './service.ts';

const Ring = z.object({
  times: z.int(),
  bell: z.object({ pitch: z.enum(['low', 'high']).default('high') }).default({ pitch: 'high' }),
});

function createBell(): EnvironmentServer {
  const env = new EnvironmentServer({ name: 'bell' });
  env.scenario('ring', { args: Ring, solution: () => ({ calls: [], answer: 'rung' }) }, async function* () {
    yield 'Ring.';
    return 1;
  });
  return env;
}

describe('a dataset that a service builds', { timeout: 60_000 }, () => {
  it('is refused with its status and the field at fault, in words', async () => {
    const service = await startService({ worker: false });
    const refused = async (body: object) => {
      const { status, json } = await service.request('/v1/datasets', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const { code, param, message } = (json as { error: Record<string, string> }).error;
      return [status, code, param, message];
    };
    expect(await refused({})).toEqual([
      400,
      'missing_required_parameter',
      'from',
      'from is required: an object with evaluations or an object with filter.',
    ]);
    const evaluation = `eval_${'0'.repeat(32)}`;
    expect(await refused({ from: { evaluations: [evaluation] } })).toEqual([
      404,
      'evaluation_not_found',
      'from.evaluations',
      expect.stringContaining(evaluation),
    ]);
    expect(await refused({ from: { filter: {} }, held_out: ['nowhere'] })).toEqual([
      404,
      'taskset_not_found',
      'held_out',
      expect.stringContaining('nowhere'),
    ]);
  });

  it('is refused with a held-out task whose run left out an argument with a default', async () => {
    const service = await startService({ environments: new Map([['bell', inMemory(createBell)]]) });
    const run = (scenario_args: object) =>
      service.run({ env_name: 'bell', scenario_name: 'ring', scenario_args }, { prefer: 'wait=60' });
    expect((await run({ times: 1 })).json).toMatchObject({ reward: 1 });
    const client = createServiceClient({ baseUrl: service.url, apiKey: service.key });
    const build = async (args: JsonObject) => {
      const held_out = [{ name: 'mine', tasks: [{ id: 'm', env: 'bell', scenario: 'ring', args }] }];
      const request = { from: { filter: { env_name: 'bell' } }, held_out, select: { include_reference: true } };
      for await (const part of client.datasets.build(request)) if (part.type === 'dataset') return part.manifest;
      throw new Error('There is no manifest');
    };
    const refusal = { code: 'held_out_task', status: 400, message: expect.stringContaining('"m"') };
    await expect(build({ times: 1, bell: { pitch: 'high' } })).rejects.toMatchObject(refusal);
    await expect(build({ times: 1, bell: {} })).rejects.toMatchObject(refusal);
    await expect(build({ times: 1 })).rejects.toMatchObject(refusal);
    expect((await build({ times: 1, bell: { pitch: 'low' } })).lines.train).toBe(1);
    await run({ times: 2, bell: { pitch: 'high' } });
    await expect(build({ times: 2 })).rejects.toMatchObject(refusal);
  });
});
