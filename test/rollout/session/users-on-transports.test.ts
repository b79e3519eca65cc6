import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectEnvironment } from '../../../src/environment/client/connect.ts';
import type { ConnectOptions, EnvironmentClient } from '../../../src/environment/client/environment-client.ts';
import { EnvironmentPool } from '../../../src/environment/client/pool/environment-pool.ts';
import { hashTargetCode } from '../../../src/environment/client/pool/module-hash.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { type ServerHandle, serve } from '../../../src/environment/server/serve.ts';
import { executeRun } from '../../../src/rollout/session/execute-run.ts';
import { connect, HARNESS, httpTransport, openMemory, setup } from '../../environment/server/clients.ts';
import createMarket from './environments/market/environment.ts';
import { call, calls, listRecorder, runOptions, runRequest, says, scripted } from './fixtures.ts';

const KEY = 'the-key-of-the-market';
const module = {
  kind: 'module',
  path: fileURLToPath(new URL('environments/market/environment.ts', import.meta.url)),
} as const;
let server: ServerHandle;
let pool: EnvironmentPool;

beforeAll(async () => {
  server = await serve(createMarket, { transport: 'http', port: 0, harnessKey: KEY });
  pool = new EnvironmentPool({ perEnvironment: 0, hosts: 1 });
});
afterAll(() => Promise.all([server.close(), pool.close()]));

type Connect = (options: ConnectOptions) => Promise<EnvironmentClient>;

const PLACES: readonly (readonly [string, Connect])[] = [
  ['in this process', (options) => connectEnvironment(inMemory(createMarket), options)],
  ['at an address', (options) => connectEnvironment({ kind: 'url', url: server.url ?? '', harnessKey: KEY }, options)],
  ['in a process of its own', (options) => connectEnvironment(module, options)],
  ['in a host', async (options) => pool.connect(module, { ...options, codeHash: await hashTargetCode(module) })],
];

async function play(connectHere: Connect, scenario: string) {
  const recorder = listRecorder();
  const agent = scripted(
    calls(call('wallet', { name: 'pay' }), call('user', { name: 'next' })),
    says('2.'),
    says('1.'),
  );
  const user = scripted(calls(call('pay')), says('One, please.'), says('Fine. ###STOP### Bye.'));
  const outcome = await executeRun({
    ...runOptions(undefined as never, agent, recorder, {
      request: runRequest({ scenario_name: scenario, scenario_args: {}, user_model: 'guest' }),
    }),
    connect: connectHere,
    createHarnessModel: () => user,
  });
  return { outcome, recorder, agent, user };
}

const conversationIn = ({ recorder }: Awaited<ReturnType<typeof play>>) =>
  recorder.of('evaluation.completed').map(({ evaluation }) => evaluation.info.conversation);

describe.each(PLACES)('a user %s', { timeout: 60_000 }, (_place, connectHere) => {
  it('that a model plays calls its functions; the agent can neither see nor call them', async () => {
    const played = await play(connectHere, 'model');
    expect(played.outcome).toMatchObject({ status: 'completed', stopReason: 'answered', reward: 1 });
    expect(played.recorder.of('setup.completed')[0]?.tools.map(({ name }) => name)).toEqual(['weigh']);
    expect(played.recorder.of('tool.responded').map(({ is_error }) => is_error)).toEqual([true, true]);
    expect(played.recorder.of('user.responded').flatMap((event) => event.calls)).toMatchObject([
      { name: 'pay', text: '{"coins":2}' },
    ]);
    expect(conversationIn(played)).toEqual([['A customer comes.', '2.', 'One, please.', '1.', 'Fine.']]);
    expect(JSON.stringify(played.agent.requests)).not.toMatch(/pears|coins/);
  });

  it('that is code says the same, and ends with the words before its stop word', async () => {
    const played = await play(connectHere, 'code');
    expect(played.outcome).toMatchObject({ status: 'completed', stopReason: 'answered', reward: 1 });
    expect(conversationIn(played)).toEqual([['A customer comes.', '2.', 'Too dear.', '1.', 'Then no.']]);
    expect(played.user.requests).toEqual([]);
  });
});

describe.each(['legacy', 'modern'] as const)('a harness on the %s era', (mode) => {
  it.each([
    ['in memory', () => openMemory(createMarket)],
    ['over HTTP', () => httpTransport(server.url ?? '')],
  ])('asks users and calls their functions %s', async (_place, open) => {
    const client = await connect(open(), { mode, meta: { ...HARNESS, 'svc/harness_key': KEY } });
    const { structuredContent } = await setup(client, 'model');
    expect(structuredContent).toMatchObject({ user: { instructions: 'You want pears.', tools: [{ name: 'pay' }] } });
    const paid = await client.callTool({ name: 'wallet', arguments: { name: 'pay', arguments: {} } });
    expect(paid.structuredContent).toEqual({ coins: 2 });
    const asked = { name: 'next', arguments: { conversation: [] } };
    // No user that is code is active.
    expect(await client.callTool({ name: 'user', arguments: asked })).toMatchObject({ isError: true });
  });

  it.each([
    ['no conversation', {}],
    ['one that is none', { 'svc/conversation': 'Hello.' }],
  ])('that evaluates with %s gets an error, and no reward', async (_what, more) => {
    const client = await connect(openMemory(createMarket), { mode, meta: HARNESS });
    const evaluateWith = async (meta: object) => {
      const { _meta } = await setup(client, 'model');
      const place = { 'svc/session_id': _meta?.['svc/session_id'] };
      const asked = { name: 'evaluate', arguments: { name: 'model', arguments: { answer: '' } } };
      return await client.callTool({ ...asked, _meta: { ...place, ...meta } });
    };
    const evaluated = await evaluateWith(more);
    expect(evaluated).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('svc/conversation') }],
    });
    expect(evaluated.structuredContent).toBeUndefined();
    // It is closed by that, so that another one can be set up.
    const told = await evaluateWith({ 'svc/conversation': [{ role: 'user', content: 'Two.' }] });
    expect(told.structuredContent).toMatchObject({ reward: 0, info: { conversation: ['Two.'] } });
  });
});
