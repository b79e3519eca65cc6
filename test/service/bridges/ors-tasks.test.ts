import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { directoryWith } from '../../evaluation/tasks/files.ts';
import { serveOrs } from './ors-server.ts';

const ASK = { args: z.object({ n: z.int() }) };

function createEnvironment(name: string, ...scenarios: readonly string[]) {
  return inMemory(() => {
    const env = new EnvironmentServer({ name, sessionsPerProcess: 1_000 });
    for (const scenario of scenarios) {
      env.scenario(scenario, ASK, async function* ({ n }) {
        yield `${name}/${scenario} ${n}`;
        return 1;
      });
    }
    return env;
  });
}

describe('an environment of ORS', () => {
  it('is a scenario, in order of environments and declaration; where names are equal, both have that of their environment', async () => {
    const environments = new Map([
      ['second-Shop', createEnvironment('second-Shop', 'Buy-It', 'look')],
      ['first', createEnvironment('first', 'buy_it', 'Sell')],
    ]);
    const { client } = await serveOrs({ environments });
    const names = ['second_shop_buy_it', 'look', 'first_buy_it', 'sell'];
    expect((await client.get('/list_environments')).json).toEqual(names);
    const sid = await client.create({ task_spec: { n: 1 } });
    const prompt = await client.get('/SECOND_SHOP_BUY_IT/prompt', sid);
    expect(prompt.json).toMatchObject([{ text: 'second-Shop/Buy-It 1' }]);
  });

  it('without tasks has one empty split, train, and takes what its schema takes', async () => {
    const { client } = await serveOrs({ environments: new Map([['shop', createEnvironment('shop', 'buy')]]) });
    expect((await client.get('/buy/splits')).json).toEqual([{ name: 'train', type: 'train' }]);
    expect((await client.post('/buy/tasks', { split: 'train' })).json).toEqual({ tasks: [], env_name: 'buy' });
    expect((await client.post('/buy/num_tasks', { split: 'train' })).json).toEqual({ num_tasks: 0 });
    const range = { split: 'train', start: -3, stop: 7 };
    expect((await client.post('/buy/task_range', range)).json).toEqual({ tasks: [] });
    expect((await client.post('/buy/task', { split: 'train', index: 0 })).status).toBe(400);
    await client.create({ task_spec: { n: 5 } });
  });

  it('has the tasks of a taskset in place of its own: by id in their splits, none is train, held out ones too', async () => {
    const lines = [
      { id: 'z', env: 'shop', scenario: 'buy', args: { n: 1 }, split: 'test', held_out: true },
      { id: 'c', env: 'shop', scenario: 'buy', args: { n: 2 }, split: 'train' },
      { id: 'b', env: 'shop', scenario: 'buy', args: { n: 3 } },
      { id: 'a', env: 'shop', scenario: 'buy', args: { n: 4 }, split: 'test' },
      { id: 'other', env: 'shop', scenario: 'sell', args: { n: 5 }, split: 'validation' },
    ];
    const directory = directoryWith({ 'tasksets/mine.jsonl': lines.map((line) => JSON.stringify(line)).join('\n') });
    const environments = new Map([['shop', createEnvironment('shop', 'buy', 'sell')]]);
    const { client } = await serveOrs({ environments, directory, taskset: 'mine' });
    const tasksOf = async (name: string, split: string) => (await client.post(`/${name}/tasks`, { split })).json;
    expect((await client.get('/buy/splits')).json).toMatchObject([{ name: 'train' }, { name: 'test' }]);
    expect(await tasksOf('buy', 'train')).toEqual({ tasks: [{ n: 3 }, { n: 2 }], env_name: 'buy' });
    expect(await tasksOf('buy', 'test')).toEqual({ tasks: [{ n: 4 }, { n: 1 }], env_name: 'buy' });
    expect(await tasksOf('sell', 'validation')).toEqual({ tasks: [{ n: 5 }], env_name: 'sell' });
    expect(await tasksOf('sell', 'train')).toEqual({ detail: expect.stringContaining('sell has validation') });
    const sid = await client.create({ split: 'test', index: -1 });
    expect((await client.get('/buy/prompt', sid)).json).toMatchObject([{ text: 'shop/buy 1' }]);
    await expect(serveOrs({ environments, directory, taskset: 'absent' })).rejects.toThrow('absent');
  });
});
