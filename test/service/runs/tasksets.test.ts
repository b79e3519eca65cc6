import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { directoryWith, line } from '../../evaluation/tasks/files.ts';
import { COUNTER, startService } from './service.ts';

const DOOR = inMemory(() => {
  const env = new EnvironmentServer({ name: 'door' });
  const args = { times: z.int() };
  env.scenario('push', { args, tasks: async () => [{ id: 'a', args: { times: 1 } }] }, async function* () {
    yield 'Push.';
    return 1;
  });
  const tasks = () => {
    throw new Error('no doors');
  };
  env.scenario('pull', { args, tasks }, async function* () {
    yield 'Pull.';
    return 1;
  });
  return env;
});

describe('GET /v1/tasksets', () => {
  it('lists files and what scenarios declare, with the reason of those that cannot be read', async () => {
    const directory = directoryWith({ 'tasksets/small.jsonl': line('a'), 'tasksets/bad.jsonl': '{}' });
    const service = await startService({ environments: new Map([['door', DOOR]]), directory });
    const { status, json } = await service.request('/v1/tasksets');
    expect(status).toBe(200);
    expect(json).toEqual({
      object: 'list',
      data: [
        {
          name: 'bad',
          version: null,
          tasks: null,
          error: expect.stringContaining('tasksets/bad.jsonl:1: id: It is missing'),
        },
        { name: 'door/pull', version: null, tasks: null, error: expect.stringContaining('no doors') },
        { name: 'door/push', version: expect.stringMatching(/^[0-9a-f]{64}$/), tasks: 1, error: null },
        { name: 'small', version: expect.stringMatching(/^[0-9a-f]{64}$/), tasks: 1, error: null },
      ],
    });
    expect(JSON.stringify(json)).not.toContain(directory);
  });

  it('needs a key', async () => {
    const service = await startService({ environments: new Map([['counter', COUNTER]]), directory: directoryWith() });
    const { status } = await service.request('/v1/tasksets', { headers: { authorization: 'Bearer wrong' } });
    expect(status).toBe(401);
  });

  it('is described by the service', async () => {
    const service = await startService({ environments: new Map(), directory: directoryWith() });
    expect((await service.request('/v1/tasksets')).json).toEqual({ object: 'list', data: [] });
    const { json } = await service.request('/openapi.json');
    expect(json).toMatchObject({ paths: { '/v1/tasksets': { get: { summary: expect.any(String) } } } });
  });
});
