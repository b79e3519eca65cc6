import { fileURLToPath } from 'node:url';
import { EnvironmentServer, type ScenarioConfig, type SolutionToolResult, ToolError } from 'proctor';
import { openEnvironment } from 'proctor/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openInMemory } from '../../../src/environment/server/in-memory.ts';

const here = fileURLToPath(import.meta.url);

/** A till whose scenario rewards everybody: a reward says nothing of the solution. */
function createTill(config: Partial<ScenarioConfig>) {
  const environment = new EnvironmentServer({ name: 'till' });
  environment.tool('pay', { args: { amount: z.int().positive() } }, ({ amount }) => {
    if (amount > 100) throw new ToolError('The till holds 100.');
    return { paid: amount };
  });
  environment.tool('coins', {}, () => [1, 2, 5]);
  environment.tool('jam', {}, () => {
    throw new Error('the drawer is stuck');
  });
  environment.scenario('sell', { tools: ['pay', 'coins', 'j*'], ...config }, async function* () {
    yield 'Sell.';
    return 1;
  });
  return environment;
}

async function play(config: Partial<ScenarioConfig>) {
  await using env = await openEnvironment(createTill(config), { onLog: () => {} });
  return await env.run('sell');
}

const calling = (name: string, args = {}): Partial<ScenarioConfig> => ({
  solution: () => ({ calls: [{ name, arguments: args }], answer: 'sold' }),
});

async function* misfittingSolution() {
  if (Date.now() < 0) yield { name: 'none', arguments: {} };
  return { total: 'three' };
}

describe('a solution that does not work fails the run as a fault of the scenario', () => {
  it('where it calls a tool that does not exist, and names those that do', async () => {
    const trace = await play(calling('refund'));
    expect(trace).toMatchObject({ status: 'failed', stop_reason: 'error', reward: null });
    expect(trace.error).toEqual({
      boundary: 'setup',
      code: 'environment_failed',
      message:
        'The solution of the scenario "sell" calls the tool "refund", which its agent does not have. It has: pay, coins, jam',
    });
  });

  it('where it calls a tool by a name that is nearly right, and says which one that is', async () => {
    const trace = await play(calling('piay', { amount: 1 }));
    expect(trace.error?.message).toBe(
      'The solution of the scenario "sell" calls the tool "piay", which its agent does not have. Did you mean "pay"? It has: pay, coins, jam',
    );
  });

  it('where it calls a tool that the scenario leaves out', async () => {
    const trace = await play({ ...calling('coins'), tools: ['pay'] });
    expect(trace.error).toMatchObject({
      boundary: 'setup',
      message: 'The solution of the scenario "sell" calls the tool "coins", which its agent does not have. It has: pay',
    });
  });

  it.each([
    ['arguments that do not fit', 'pay', { amount: 0 }, /Invalid arguments of pay: amount: .* It takes: amount\.$/],
    ['a ToolError', 'pay', { amount: 101 }, /The till holds 100\.$/],
    ['a tool that throws', 'jam', {}, /The tool jam failed$/],
  ])('where a call fails: %s', async (_, name, args, message) => {
    const trace = await play(calling(name, args));
    expect(trace).toMatchObject({ status: 'failed', reward: null, error: { boundary: 'setup' } });
    expect(trace.error?.message).toMatch(
      new RegExp(`^A call of the solution of the scenario "sell" failed: ${name}\\(.*\\) gave: `),
    );
    expect(trace.error?.message).toMatch(message);
    expect(trace.steps[0]?.tool_results[0]?.is_error).toBe(true);
  });

  it('where the last step that the run may take is a call that fails', async () => {
    await using env = await openEnvironment(createTill(calling('refund')), { onLog: () => {} });
    const trace = await env.run('sell', {}, { maxSteps: 1 });
    expect(trace).toMatchObject({ status: 'failed', reward: null, error: { boundary: 'setup' } });
  });

  it('where it throws, in one sentence, with the file and the line in the log of the trace', async () => {
    const logged: string[] = [];
    const solution = () => {
      throw new Error('no such price');
    };
    await using env = await openEnvironment(createTill({ solution }), { onLog: ({ message }) => logged.push(message) });
    const trace = await env.run('sell');
    expect(trace.error).toEqual({
      boundary: 'setup',
      code: 'environment_failed',
      message: expect.stringMatching(/^The solution of the scenario "sell" failed: no such price at \S+:\d+:\d+$/),
    });
    expect(trace.logs.map(({ message }) => message).join('\n')).toContain(`${here}:`);
  });

  it('where it throws after a call', async () => {
    const trace = await play({
      async *solution() {
        yield { name: 'coins', arguments: {} };
        throw new Error('no such coin');
      },
    });
    expect(trace.error).toMatchObject({
      boundary: 'setup',
      message: expect.stringMatching(/^The solution of the scenario "sell" failed: no such coin at \S+:\d+:\d+$/),
    });
  });

  it('where there is none, and says what to declare', async () => {
    const trace = await play({});
    expect(trace.error).toEqual({
      boundary: 'setup',
      code: 'environment_failed',
      message:
        'The scenario "sell" has no solution for proctor/oracle to play: declare "solution" in its configuration, or run another model',
    });
  });

  it.each([
    ['a list of calls', () => ({ calls: [], answer: { total: 'three' } })],
    ['a generator', misfittingSolution],
    ['one that gives no answer', () => ({ calls: [] })],
  ])('where its answer does not fit the schema of the answer: %s', async (_, solution) => {
    const environment = new EnvironmentServer({ name: 'sum' });
    environment.scenario(
      'add',
      { answer: z.object({ total: z.number() }), solution: solution as never },
      async function* () {
        const { total } = yield 'Add.';
        return total === 3;
      },
    );
    await using env = await openEnvironment(environment, { onLog: () => {} });
    const trace = await env.run('add');
    expect(trace).toMatchObject({ status: 'failed', reward: null, error: { boundary: 'setup' } });
    expect(trace.error?.message).toMatch(
      /^The solution of the scenario "add" failed: Its answer does not fit the scenario's `answer`: /,
    );
  });

  it('but not where its answer is text that is JSON of the schema, as an agent may give it', async () => {
    const environment = new EnvironmentServer({ name: 'sum' });
    const solution = () => ({ calls: [], answer: '{"total":3}' });
    environment.scenario(
      'add',
      { answer: z.object({ total: z.number() }), solution: solution as never },
      async function* () {
        const { total } = yield 'Add.';
        return total === 3;
      },
    );
    await using env = await openEnvironment(environment, { onLog: () => {} });
    expect(await env.run('add')).toMatchObject({ status: 'completed', reward: 1 });
  });

  it('where it gives something else than calls and an answer', async () => {
    const trace = await play({ solution: (() => ({ answer: 'sold' })) as never });
    expect(trace.error).toMatchObject({ boundary: 'setup', message: expect.stringContaining('{ calls, answer }') });
  });
});

describe('a pattern of tools that matches none', () => {
  const fault =
    'The scenario sell allows in "tools" what no tool of the environment matches: "refund_*". There are: pay, coins, jam';

  it('fails the setup of a run, and names the pattern and the tools', async () => {
    const trace = await play({ ...calling('pay', { amount: 1 }), tools: ['pay', 'refund_*'] });
    expect(trace).toMatchObject({ status: 'failed', reward: null, error: { boundary: 'setup' } });
    expect(trace.error?.message).toContain(fault);
  });

  it('is reported when the environment starts', async () => {
    const reports: string[] = [];
    const opened = openInMemory(() => createTill({ tools: ['refund_*'] }), { report: (text) => reports.push(text) });
    await opened.close();
    expect(reports).toEqual([fault]);
  });

  it('is none where the setup itself declares the tool', async () => {
    const environment = new EnvironmentServer({ name: 'later' });
    const solution = () => ({ calls: [{ name: 'late', arguments: {} }] });
    environment.scenario('go', { tools: ['late'], solution }, async function* () {
      environment.tool('late', {}, () => 'here');
      yield 'Go.';
      return 1;
    });
    await using env = await openEnvironment(environment, { onLog: () => {} });
    expect(await env.run('go')).toMatchObject({ status: 'completed', reward: 1 });
  });
});

describe('a solution that is a generator', () => {
  it('gets results with their text, and lists with structured content', async () => {
    const seen: SolutionToolResult[] = [];
    const trace = await play({
      async *solution() {
        seen.push(yield { name: 'pay', arguments: { amount: 5 } });
        seen.push(yield { name: 'coins', arguments: {} });
        return 'sold';
      },
    });
    expect(trace).toMatchObject({ status: 'completed', reward: 1, answer: 'sold' });
    expect(seen).toEqual([
      {
        content: [{ type: 'text', text: '{"paid":5}' }],
        text: '{"paid":5}',
        structured_content: { paid: 5 },
        is_error: false,
      },
      {
        content: [{ type: 'text', text: '[1,2,5]' }],
        text: '[1,2,5]',
        structured_content: { result: [1, 2, 5] },
        is_error: false,
      },
    ]);
  });
});

describe.each(['proctor/noop', 'proctor/random'])('%s', (model) => {
  it('submits the smallest answer that fits, in one answer', async () => {
    const environment = new EnvironmentServer({ name: 'count' });
    environment.scenario('sum', { answer: z.object({ total: z.int().min(3) }) }, async function* () {
      const { total } = yield 'How much?';
      return { reward: 0, info: { total } };
    });
    await using env = await openEnvironment(environment);
    const trace = await env.run('sum', {}, { model, seed: 1 });
    expect(trace).toMatchObject({
      answer: { total: 3 },
      reward: 0,
      evaluation: { is_error: false, info: { total: 3 } },
    });
    expect(trace.steps).toHaveLength(1);
  });
});
