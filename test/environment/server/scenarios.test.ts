import type { Client } from '@modelcontextprotocol/client';
import { EnvironmentServer, Hub } from 'proctor';
import { describe, expect, it } from 'vitest';
import {
  evaluationSchema,
  scenarioListSchema,
  setupResultSchema,
  solutionSchema,
} from '../../../src/contract/scenario.ts';
import { until } from '../../until.ts';
import {
  AS_AGENT,
  connectInMemory,
  connectV1,
  errorOf,
  evaluate,
  HARNESS,
  openMemory,
  setup,
  textOf,
} from './clients.ts';
import { createExam } from './exam.ts';

const harness = (events: string[] = []) => connectInMemory(createExam(events), { meta: HARNESS });

describe.each(['legacy', 'modern'] as const)('a scenario on the %s era', (mode) => {
  it('has no other tools for an agent than it names, and those are all of them again at its end', async () => {
    const client = await connectInMemory(createExam(), { mode, meta: HARNESS });
    const listed = async () => (await client.listTools(AS_AGENT)).tools.map(({ name }) => name);
    const call = (name: string) => client.callTool({ name, arguments: {}, ...AS_AGENT });
    const all = await listed();
    await setup(client, 'count_to', { target: 1 });
    expect(await listed()).toEqual(['increment']);
    for (const name of ['picture', 'notes', 'setup', 'nowhere']) {
      expect(await errorOf(call(name))).toEqual({ code: -32602, message: `Unknown tool: ${name}` });
    }
    expect(await call('increment')).toMatchObject({ structuredContent: { count: 1 } });
    expect(textOf(await client.callTool({ name: 'vault', arguments: { name: 'open' } }))).toBe('gold');
    await evaluate(client, 'count_to');
    expect(await listed()).toEqual(all);
    expect(await call('picture')).toMatchObject({ content: [{ type: 'image' }] });
  });

  it('is set up, acted in and evaluated', async () => {
    const events: string[] = [];
    const client = await connectInMemory(createExam(events), { mode, meta: HARNESS });
    const started = await setup(client, 'count_to', { target: 2 });
    expect(setupResultSchema.parse(started.structuredContent)).toEqual({
      scenario: 'count_to',
      prompt: [{ role: 'user', content: 'Count to 2.' }],
      system: 'You count.',
      tools: ['increment'],
      answer_schema: null,
    });
    await client.callTool({ name: 'increment', arguments: { by: 2 } });
    const evaluation = await evaluate(client, 'count_to');
    expect(evaluationSchema.parse(evaluation.structuredContent)).toEqual({
      reward: 1,
      done: true,
      content: null,
      info: {},
      subscores: [],
      is_error: false,
    });
    expect(evaluation.isError).toBeFalsy();
    expect(events).toContain('closed count_to');
  });
});

describe('the rules of the active scenario', () => {
  it('refuses a second setup and says which one is active', async () => {
    const client = await harness();
    await setup(client, 'count_to', { target: 1 });
    const second = await setup(client, 'walk');
    expect(second.isError).toBe(true);
    expect(textOf(second)).toContain('The scenario count_to is active in this session');
    expect((await evaluate(client, 'count_to')).isError).toBeFalsy();
    expect((await setup(client, 'walk')).isError).toBeFalsy();
  });

  it('refuses an evaluation without setup, of another scenario, and a second one', async () => {
    const client = await harness();
    expect(await evaluate(client, 'count_to')).toMatchObject({ isError: true });
    expect(textOf(await evaluate(client, 'count_to'))).toContain('No scenario is active');
    await setup(client, 'count_to', { target: 1 });
    expect(textOf(await evaluate(client, 'walk'))).toContain('active in this session is count_to, not walk');
    expect((await evaluate(client, 'count_to')).structuredContent).toMatchObject({ reward: 0 });
    const again = await evaluate(client, 'count_to');
    expect(again.isError).toBe(true);
    expect(textOf(again)).toContain('has been evaluated already');
  });

  it('refuses what comes while a half is running', async () => {
    const events: string[] = [];
    const client = await harness(events);
    const aborter = new AbortController();
    const hanging = client.callTool({ name: 'setup', arguments: { name: 'hang' } }, { signal: aborter.signal });
    hanging.catch(() => {});
    expect(textOf(await setup(client, 'walk'))).toContain('hang is being set up');
    expect(textOf(await evaluate(client, 'hang'))).toContain('hang is still being set up');
    aborter.abort();
    await until(() => events.includes('closed hang'));
    expect((await setup(client, 'walk')).isError).toBeFalsy();
  });

  it('lets one of two evaluations at the same time through', async () => {
    const client = await harness();
    await setup(client, 'count_to', { target: 0 });
    const results = await Promise.all([evaluate(client, 'count_to'), evaluate(client, 'count_to')]);
    expect(results.map(({ isError }) => isError ?? false)).toEqual([false, true]);
  });

  it('closes a scenario whose setup or evaluation fails, and says to the harness why', async () => {
    const client = await harness();
    const broken = await setup(client, 'break_setup');
    expect(broken.isError).toBe(true);
    expect(textOf(broken)).toMatch(/^no database at test\/\S+\.ts:\d+:\d+$/);
    await setup(client, 'break_evaluation');
    const failed = await evaluate(client, 'break_evaluation');
    expect(failed.isError).toBe(true);
    expect(textOf(failed)).toMatch(/^no judge at test\/\S+\.ts:\d+:\d+$/);
    expect((await setup(client, 'count_to', { target: 0 })).isError).toBeFalsy();
  });

  it('never takes a missing evaluation for a reward', async () => {
    const build = () => {
      const environment = new EnvironmentServer({ name: 'e' });
      environment.scenario('half', {}, async function* () {
        yield 'Go.';
        return undefined as unknown as number;
      });
      return environment;
    };
    const client = await connectInMemory(build, { meta: HARNESS });
    await setup(client, 'half');
    const result = await evaluate(client, 'half');
    expect(result.isError).toBe(true);
    expect(result.structuredContent).toBeUndefined();
    expect(textOf(result)).toContain('without an evaluation');
  });

  it('closes the generator of a scenario that is active when the session ends', async () => {
    const events: string[] = [];
    const client = await harness(events);
    await setup(client, 'count_to', { target: 1 });
    await client.close();
    await until(() => events.includes('close 1'));
    expect(events).toContain('closed count_to');
    expect(events.indexOf('closed count_to')).toBeLessThan(events.indexOf('close 2'));
  });

  it('is one for each session, of a shared instance too', async () => {
    const shared = createExam()();
    const first = await connectInMemory(shared, { meta: HARNESS });
    const second = await connectInMemory(shared, { meta: HARNESS });
    await setup(first, 'count_to', { target: 1 });
    expect((await setup(second, 'walk')).isError).toBeFalsy();
  });
});

describe('the dispatchers', () => {
  it('name every bad argument and what exists', async () => {
    const client = await harness();
    const bad = await setup(client, 'count_to', { target: -1, speed: 2 });
    expect(bad.isError).toBe(true);
    expect(textOf(bad)).toMatch(/target: .*got -1/);
    expect(textOf(bad)).toContain('speed: is not an argument that exists');
    expect(textOf(bad)).toContain('It takes: target, label.');
    const surplus = await client.callTool({
      name: 'evaluate',
      arguments: { name: 'count_to', arguments: { anser: 1 } },
    });
    expect(textOf(surplus)).toContain('anser: is not an argument that exists');
  });

  it('list what exists for an unknown function and for arguments of the wrong form', async () => {
    const client = await harness();
    const existing = 'reset, count_to, walk, break_setup, break_evaluation, hang';
    for (const args of [
      { name: 'nope' },
      { name: '__proto__' },
      {},
      { name: 7 },
      { name: 'reset', arguments: [] },
      { name: 'reset', other: 1 },
    ]) {
      const result = await client.callTool({ name: 'setup', arguments: args });
      expect(result.isError).toBe(true);
      expect(textOf(result)).toContain(existing);
    }
  });

  it('merge the author’s functions of the hub setup with those of the scenarios', async () => {
    const client = await harness();
    const { tools } = await client.listTools();
    const schema = tools.find(({ name }) => name === 'setup')?.inputSchema;
    expect(schema?.properties?.name).toMatchObject({ enum: expect.arrayContaining(['reset', 'count_to', 'walk']) });
    expect(textOf(await setup(client, 'reset'))).toBe('reset');
    const resource = await client.readResource({ uri: 'setup://functions' });
    const list = JSON.parse(String((resource.contents[0] as { text: string }).text));
    expect(list.functions.map(({ name }: { name: string }) => name)).toContain('count_to');
    expect(list.functions[1].input_schema.properties.target.type).toBe('integer');
  });

  it('are there for agents where the hub is theirs', async () => {
    const client = await connectInMemory(createExam());
    const added = await client.callTool({ name: 'notes', arguments: { name: 'add', arguments: { text: 'a' } } });
    expect(textOf(added)).toBe('added a');
  });

  it('have no hub solution where no scenario has one, and take hubs without functions', async () => {
    const env = new EnvironmentServer({ name: 'e' }).mount(new Hub('empty', { audience: 'agent' }));
    const client = await connectInMemory(env, { meta: HARNESS });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['empty']);
    expect(textOf(await client.callTool({ name: 'empty', arguments: { name: 'x' } }))).toContain('It has: none.');
  });
});

describe('svc://scenarios', () => {
  it('lists the scenarios and their arguments, to agents too', async () => {
    const client = await connectInMemory(createExam());
    const { contents } = await client.readResource({ uri: 'svc://scenarios' });
    const list = scenarioListSchema.parse(JSON.parse((contents[0] as { text: string }).text));
    const entry = list.scenarios.find(({ short_name }) => short_name === 'count_to');
    expect(entry).toMatchObject({
      name: 'exam:count_to',
      description: 'Count to a number.',
      required_args: ['target'],
      arguments: [
        { name: 'target', type: 'integer', required: true, description: 'How far', default: null },
        { name: 'label', type: 'string', required: false, description: null, default: 'x' },
      ],
    });
    expect(JSON.stringify(list)).not.toContain('increment');
  });
});

describe('the hub solution', () => {
  const solve = async (client: Client, name: string, args: object, results: readonly object[] = []) => {
    const meta = { _meta: { 'svc/solution_results': results } };
    return client.callTool({ name: 'solution', arguments: { name, arguments: args }, ...meta });
  };
  const result = (structured_content: unknown) => ({
    content: [{ type: 'text', text: 'x' }],
    structured_content,
    is_error: false,
  });

  it('answers a trajectory that is data', async () => {
    const client = await harness();
    const { structuredContent } = await solve(client, 'count_to', { target: 4 });
    expect(solutionSchema.parse(structuredContent)).toEqual({
      calls: [{ name: 'increment', arguments: { by: 4 } }],
      answer: 'done',
      done: true,
    });
  });

  it('answers a generator’s calls one by one and feeds it the results', async () => {
    const events: string[] = [];
    const client = await harness(events);
    const first = await solve(client, 'walk', {});
    expect(first.structuredContent).toEqual({
      calls: [{ name: 'increment', arguments: { by: 1 } }],
      answer: null,
      done: false,
    });
    const second = await solve(client, 'walk', {}, [result({ count: 1 })]);
    expect(second.structuredContent).toMatchObject({ calls: [{ arguments: { by: 2 } }], done: false });
    const outOfStep = await solve(client, 'walk', {}, [result(1)]);
    expect(textOf(outOfStep)).toContain('has given 2 calls, got 1 results');
    const last = await solve(client, 'walk', {}, [result({ count: 1 }), result({ count: 3 })]);
    expect(last.structuredContent).toEqual({ calls: [], answer: 'saw {"count":3}', done: true });
    expect(events).toContain('closed solution');
    expect(textOf(await solve(client, 'walk', {}, [result(1)]))).toContain('No solution of the scenario walk');
  });

  it('closes a generator that is started anew or left behind', async () => {
    const events: string[] = [];
    const client = await harness(events);
    await solve(client, 'walk', {});
    await solve(client, 'walk', {});
    expect(events.filter((event) => event === 'closed solution')).toHaveLength(1);
    await client.close();
    await until(() => events.filter((event) => event === 'closed solution').length === 2);
  });

  it('says that there is none, and refuses results that are no results', async () => {
    const client = await harness();
    expect(textOf(await solve(client, 'hang', {}))).toContain('has no function "hang"');
    expect(textOf(await solve(client, 'walk', {}, [{ text: 'x' }]))).toContain('list of tool results');
  });
});

describe('a client of the SDK’s first line', () => {
  it('plays a scenario', async () => {
    const client = await connectV1(openMemory(createExam()), HARNESS);
    const started = await client.callTool({ name: 'setup', arguments: { name: 'count_to', arguments: { target: 1 } } });
    expect(started.structuredContent).toMatchObject({ scenario: 'count_to' });
    await client.callTool({ name: 'increment' });
    const evaluation = await client.callTool({
      name: 'evaluate',
      arguments: { name: 'count_to', arguments: { answer: 'done' } },
    });
    expect(evaluation.structuredContent).toMatchObject({ reward: 1 });
  });
});
