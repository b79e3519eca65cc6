import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { connectInMemory, evaluate, HARNESS, textOf } from './clients.ts';

function createDice() {
  const env = new EnvironmentServer({ name: 'dice', unsandboxed: true });
  const told = { hook: -1, setup: -1, evaluation: -1 };
  env.initialize(({ seed }) => {
    told.hook = seed;
  });
  env.tool('seed', {}, (_args, { seed }) => String(seed));
  env.tool('told', {}, () => told);
  const volatile = ['now', 'prompt', { tool: 'orders', path: 'orders.*.at' }] as const;
  env.scenario('throw', { volatile }, async function* (_args, context) {
    told.setup = context.seed;
    yield 'Throw.';
    told.evaluation = context.seed;
    return 1;
  });
  return env;
}

const setup = (seed?: unknown) => ({
  name: 'setup',
  arguments: { name: 'throw', arguments: {} },
  ...(seed !== undefined && { _meta: { 'svc/seed': seed } }),
});

describe.each(['legacy', 'modern'] as const)('the seed of a session (%s)', (mode) => {
  it('comes with setup, and reaches scenarios and tools', async () => {
    const client = await connectInMemory(createDice, { mode, meta: HARNESS });
    const { structuredContent } = await client.callTool(setup(41));
    expect(structuredContent).toMatchObject({
      volatile: ['now', 'prompt', { tool: 'orders', path: 'orders.*.at' }],
    });
    expect(textOf(await client.callTool({ name: 'seed' }))).toBe('41');
    await evaluate(client, 'throw');
    const { structuredContent: told } = await client.callTool({ name: 'told' });
    expect(told).toMatchObject({ setup: 41, evaluation: 41 });
  });

  it.each([undefined, 'four', 1.5])('is 0 where setup gives %o, also after one that gave another', async (seed) => {
    const client = await connectInMemory(createDice, { mode, meta: HARNESS });
    await client.callTool(setup(7));
    await evaluate(client, 'throw');
    await client.callTool(setup(seed));
    expect(textOf(await client.callTool({ name: 'seed' }))).toBe('0');
  });

  it('is not for agents to choose', async () => {
    const client = await connectInMemory(createDice, { mode, meta: HARNESS });
    await client.callTool(setup(7));
    const _meta = { 'svc/audience': 'agent', 'svc/seed': 9 };
    await expect(client.callTool({ ...setup(9), _meta })).rejects.toThrow('Unknown tool');
    expect(textOf(await client.callTool({ name: 'seed', _meta }))).toBe('7');
  });
});

it('an initialize hook is given the seed of its handshake', async () => {
  const client = await connectInMemory(createDice, { meta: { ...HARNESS, 'svc/seed': 5 } });
  const { structuredContent } = await client.callTool({ name: 'told' });
  expect(structuredContent).toMatchObject({ hook: 5 });
});

it.each([
  [{ volatile: 'now' }, '"now"'],
  [{ volatile: ['now', { tool: 'orders' }] }, 'orders'],
])('a scenario refuses %j', (config, told) => {
  const env = new EnvironmentServer({ name: 'dice' });
  const declare = () =>
    env.scenario('throw', config as never, async function* () {
      yield 'Throw.';
      return 1;
    });
  expect(declare).toThrow(/Scenario "throw": volatile has to be a list/);
  expect(declare).toThrow(told);
});

it('an environment refuses an unsandboxed that is neither true nor false', () => {
  expect(() => new EnvironmentServer({ name: 'dice', unsandboxed: 'yes' as never })).toThrow(
    'unsandboxed has to be true or false, got "yes"',
  );
});
