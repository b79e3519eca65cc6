import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { startModels, whole } from '../../gateway.ts';
import { startService } from '../../service/runs/service.ts';
import { askModel } from './agent.ts';
import { openSeat } from './seat.ts';

const FREE = inMemory(() => {
  const env = new EnvironmentServer({ name: 'free', version: '1' });
  env.scenario('closed', { tools: [] }, async function* () {
    yield 'Answer.';
    return 1;
  });
  env.scenario('open', { tools: [], providerTools: ['web_search', 'web_fetch'] }, async function* () {
    yield 'Answer.';
    return 1;
  });
  return env;
});

async function startSeat(scenario: string, dialects: ('chat' | 'messages')[]) {
  const { models, gateway } = await startModels([whole({ content: 'Hi.' })], { dialects });
  const service = await startService({ models, environments: new Map([['free', FREE]]) });
  const seat = await openSeat(service, { env_name: 'free', scenario_name: scenario, scenario_args: {}, model: 'm' });
  return { seat, gateway };
}

const HELLO = [{ role: 'user', content: 'Hello' }];
const search = {
  model: 'x',
  max_tokens: 9,
  messages: HELLO,
  tools: [{ type: 'web_search_20250305', name: 'web_search' }],
};

describe('tools that a provider runs beside its model', () => {
  it.each([
    ['/v1/messages', search, 'web_search'],
    ['/v1/messages', { ...search, tools: [{ type: 'code_execution_20250522', name: 'code' }] }, 'code_execution'],
    [
      '/v1/messages',
      { ...search, tools: [], mcp_servers: [{ type: 'url', url: 'https://elsewhere.example', name: 'x' }] },
      'mcp',
    ],
    ['/v1/responses', { model: 'x', input: 'a', tools: [{ type: 'web_search' }] }, 'web_search'],
    [
      '/v1/responses',
      { model: 'x', input: 'a', tools: [{ type: 'mcp', server_url: 'https://elsewhere.example' }] },
      'mcp',
    ],
    ['/v1/responses', { model: 'x', input: 'a', tools: [{ type: 'teleport' }] }, 'teleport'],
    ['/v1/chat/completions', { model: 'x', messages: HELLO, web_search_options: {} }, 'web_search'],
    [
      '/v1beta/models/x:generateContent',
      { contents: [{ role: 'user', parts: [{ text: 'a' }] }], tools: [{ googleSearch: {} }] },
      'web_search',
    ],
    [
      '/v1/chat/completions',
      {
        model: 'x',
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://elsewhere.example/a.png' } }] },
        ],
      },
      'web_fetch',
    ],
  ])('are refused at %s: they reach past the environment', async (path, body, word) => {
    const { seat, gateway } = await startSeat('closed', ['chat', 'messages']);
    const refused = await askModel(seat, path, body);
    expect(refused).toMatchObject({ status: 400, text: expect.stringContaining(word) });
    expect(gateway.requests).toEqual([]);
  });

  it('are allowed where the scenario names them, at a gateway that speaks the protocol', async () => {
    const { seat, gateway } = await startSeat('open', ['messages']);
    await askModel(seat, '/v1/messages', search);
    expect(gateway.requests).toMatchObject([{ path: '/v1/messages', body: { tools: search.tools } }]);
    const other = { ...search, tools: [{ type: 'code_execution_20250522', name: 'code' }] };
    expect((await askModel(seat, '/v1/messages', other)).status).toBe(400);
  });

  it('cannot get through a gateway that speaks another protocol', async () => {
    const { seat } = await startSeat('open', ['chat']);
    const refused = await askModel(seat, '/v1/messages', search);
    expect(refused).toMatchObject({ status: 400, text: expect.stringContaining('does not speak this protocol') });
  });

  it('are kinds that a scenario has to spell right', () => {
    const env = new EnvironmentServer({ name: 'wrong', version: '1' });
    const config = { providerTools: ['websearch'] } as unknown as { providerTools: ['web_search'] };
    expect(() =>
      env.scenario('s', config, async function* () {
        yield 'a';
        return 1;
      }),
    ).toThrow(/providerTools has to be a list of web_search, .*got \["websearch"\]/);
  });
});
