import { EnvironmentServer, type Evaluation, Hub, ToolError } from 'proctor';
import { openEnvironment, scriptedModel } from 'proctor/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';

/** A switch with everything that a session can be asked for. */
function createSwitch() {
  let isOn = false;
  const events: string[] = [];
  const environment = new EnvironmentServer({ name: 'switch', version: '2.0.0', instructions: 'One switch.' });
  environment.tool('press', { description: 'Presses the switch.' }, () => {
    isOn = !isOn;
    return isOn ? 'on' : 'off';
  });
  environment.tool('dim', { args: { to: z.number().max(100) }, annotations: { readOnlyHint: true } }, ({ to }) => ({
    to,
  }));
  environment.tool('refuse', {}, () => {
    throw new ToolError('Not today');
  });
  environment.tool('burn', {}, () => {
    throw new Error('the fuse is gone');
  });
  environment.mount(new Hub('audit', { audience: 'harness' }).tool('count', {}, () => 1));
  environment.resource('switch://state', { description: 'On or off.', mimeType: 'text/plain' }, () => String(isOn));
  environment.resource('switch://icons/{name}', {}, ({ name }) => new TextEncoder().encode(name));
  environment.prompt('ask', { args: { what: z.string() } }, ({ what }) => `What about ${what}?`);
  environment.initialize(({ meta }) => {
    events.push(`initialize ${meta.display_width}`);
  });
  environment.close(() => {
    events.push('close');
  });
  const turn = environment.scenario(
    'turn',
    {
      args: { wanted: z.enum(['on', 'off']), times: z.number().default(1) },
      system: 'You press.',
      solution: ({ wanted }) => ({ calls: wanted === 'on' ? [{ name: 'press', arguments: {} }] : [], answer: 'done' }),
    },
    async function* ({ wanted, times }): AsyncGenerator<string, Evaluation, string> {
      isOn = false;
      try {
        const answer = yield `Turn it ${wanted}, ${times} times.`;
        return { reward: isOn === (wanted === 'on') ? 1 : 0, content: answer };
      } finally {
        events.push('finally');
      }
    },
  );
  const broken = environment.scenario('broken', {}, async function* () {
    yield 'Go.';
    throw new Error('no reward to be had');
  });
  return { environment, events, turn, broken };
}

const silent = { onLog: () => {} };
const source = () => createSwitch().environment;

afterEach(() => {
  vi.restoreAllMocks();
});

describe('openEnvironment', () => {
  it('opens a class, a factory and an instance, and says what they announced', async () => {
    class Plain extends EnvironmentServer {
      constructor() {
        super({ name: 'plain' });
      }
    }
    await using plain = await openEnvironment(Plain);
    expect([plain.name, plain.version, plain.instructions]).toEqual(['plain', '0.0.0', '']);
    expect(await plain.agent.tools()).toEqual([]);
    expect(await plain.agent.prompts()).toEqual([]);
    expect(await plain.scenarios()).toEqual([]);
    await using made = await openEnvironment(source);
    expect([made.name, made.version, made.instructions]).toEqual(['switch', '2.0.0', 'One switch.']);
    await using shared = await openEnvironment(source());
    expect(shared.name).toBe('switch');
  });

  it('has one instance for each session of a factory, and one for all of an instance', async () => {
    await using one = await openEnvironment(source);
    await using other = await openEnvironment(source);
    await one.agent.call('press');
    expect((await other.agent.read('switch://state')).text).toBe('false');
    const instance = source();
    await using first = await openEnvironment(instance);
    await using second = await openEnvironment(instance);
    await first.agent.call('press');
    expect((await second.agent.read('switch://state')).text).toBe('true');
  });

  it('says what it takes instead of nothing, and of a class that is no environment', async () => {
    await expect(openEnvironment(undefined)).rejects.toThrow(/extends EnvironmentServer.*found nothing/);
    await expect(openEnvironment(Date)).rejects.toThrow(/extends EnvironmentServer.*found/);
  });

  it('gives the initialize hook its meta, and runs finally and close hooks when it is closed', async () => {
    const { environment, events, turn } = createSwitch();
    {
      await using env = await openEnvironment(environment, { meta: { display_width: 640 } });
      await env.setup(turn.with({ wanted: 'on' }));
    }
    expect(events).toEqual(['initialize 640', 'finally', 'close']);
  });

  it('rejects where the initialize hook fails, whose reason is in the log', async () => {
    const logs: string[] = [];
    const failing = () =>
      new EnvironmentServer({ name: 'failing' }).initialize(() => Promise.reject(new Error('no disk')));
    const opened = openEnvironment(failing, { onLog: ({ message }) => logs.push(message) });
    await expect(opened).rejects.toThrow('could not be initialized');
    expect(logs.join('\n')).toContain('no disk');
  });
});

describe('the two sides of a session', () => {
  it('the agent sees its tools with their schemas, and nothing of the harness', async () => {
    await using env = await openEnvironment(source);
    const tools = await env.agent.tools();
    expect(tools.map(({ name }) => name)).toEqual(['press', 'dim', 'refuse', 'burn']);
    expect(tools[0]).toMatchObject({ description: 'Presses the switch.', output_schema: null });
    expect(tools[1]).toMatchObject({ input_schema: { required: ['to'] }, annotations: { readOnlyHint: true } });
    expect((await env.agent.call('audit', { name: 'count' })).text).toBe(
      (await env.agent.call('nothing')).text.replace('nothing', 'audit'),
    );
    const names = (await env.harness.tools()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['press', 'audit', 'setup', 'evaluate', 'solution']));
    expect(await env.harness.call('audit', { name: 'count' })).toMatchObject({ text: '1', is_error: false });
    await expect(env.harness.call('nothing')).rejects.toThrow('nothing');
  });

  it('a call gives text, structured content, and what an agent is told of a failure', async () => {
    const logs: string[] = [];
    await using env = await openEnvironment(source, { onLog: ({ message }) => logs.push(message) });
    expect(await env.agent.call('press')).toMatchObject({ text: 'on', is_error: false });
    expect(await env.agent.call('dim', { to: 5 })).toMatchObject({ structured_content: { to: 5 }, text: '{"to":5}' });
    expect(await env.agent.call('dim', { to: 500 })).toMatchObject({
      is_error: true,
      text: expect.stringContaining('to'),
    });
    expect(await env.agent.call('refuse')).toMatchObject({ is_error: true, text: 'Not today' });
    expect(await env.agent.call('burn')).toMatchObject({ is_error: true, text: 'The tool burn failed' });
    expect(logs.join('\n')).toContain('the fuse is gone');
  });

  it('prints why a tool failed to standard error where nobody takes the logs', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
    await using env = await openEnvironment(source);
    await env.agent.call('burn');
    expect(printed.mock.calls.flat().join('\n')).toContain('the fuse is gone');
  });

  it('lists and reads resources and templates, and gets prompts', async () => {
    await using env = await openEnvironment(source);
    const resources = await env.agent.resources();
    expect(resources).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ uri: 'switch://state', description: 'On or off.', mime_type: 'text/plain' }),
        expect.objectContaining({ uri: 'switch://icons/{name}', description: null }),
        expect.objectContaining({ uri: 'svc://scenarios' }),
      ]),
    );
    const isOfAudit = ({ uri }: { readonly uri: string }) => uri === 'audit://functions';
    expect(resources.some(isOfAudit)).toBe(false);
    expect((await env.harness.resources()).some(isOfAudit)).toBe(true);
    expect(await env.agent.read('switch://state')).toMatchObject({
      text: 'false',
      bytes: null,
      mime_type: 'text/plain',
    });
    const icon = await env.agent.read('switch://icons/moon');
    expect([icon.text, Buffer.from(icon.bytes ?? []).toString()]).toEqual([null, 'moon']);
    await expect(env.agent.read('audit://functions')).rejects.toThrow('audit://functions');
    const prompts = await env.agent.prompts();
    expect(prompts.map(({ name }) => name)).toEqual(['ask', 'turn', 'broken']);
    expect(prompts[0]).toMatchObject({ arguments: [{ name: 'what', required: true }] });
    expect(await env.agent.prompt('ask', { what: 'light' })).toMatchObject([
      { content: { text: 'What about light?' } },
    ]);
  });
});

describe('a scenario in the session', () => {
  it('is set up by name or by the handle, acted on, and evaluated once', async () => {
    const { environment, turn } = createSwitch();
    await using env = await openEnvironment(environment);
    const byName = await env.setup('turn', { wanted: 'on' });
    expect(byName).toMatchObject({ scenario: 'turn', system: 'You press.', tools: null, answer_schema: null });
    expect(byName.prompt).toEqual([{ role: 'user', content: 'Turn it on, 1 times.' }]);
    await env.agent.call('press');
    expect(await byName.evaluate('it is on')).toMatchObject({ reward: 1, content: 'it is on' });
    await expect(byName.evaluate('again')).rejects.toThrow('turn');
    const byHandle = await env.setup(turn.with({ wanted: 'on', times: 2 }));
    expect(byHandle.prompt).toEqual([{ role: 'user', content: 'Turn it on, 2 times.' }]);
    expect(await byHandle.evaluate()).toMatchObject({ reward: 0, content: '' });
  });

  it('refuses bad arguments by name, and gives the solution', async () => {
    const { environment, turn } = createSwitch();
    await using env = await openEnvironment(environment);
    await expect(env.setup('turn', { wanted: 'maybe' })).rejects.toThrow('wanted');
    expect(await env.solution(turn.with({ wanted: 'on' }))).toEqual({
      calls: [{ name: 'press', arguments: {} }],
      answer: 'done',
      done: true,
    });
    await expect(env.solution('broken')).rejects.toThrow('broken');
    expect((await env.scenarios()).map(({ name }) => name)).toEqual(['switch:turn', 'switch:broken']);
  });
});

describe('run', () => {
  it('plays the solution unless it is told otherwise, and gives the trace', async () => {
    await using env = await openEnvironment(source);
    const trace = await env.run('turn', { wanted: 'on' });
    expect(trace).toMatchObject({
      status: 'completed',
      stop_reason: 'answered',
      env_name: 'switch',
      scenario_name: 'turn',
      scenario_args: { wanted: 'on' },
      model: 'proctor/oracle',
      reward: 1,
      answer: 'done',
      error: null,
      usage: { model_calls: 2, tool_calls: 1 },
    });
    expect(trace.steps.map(({ tool_results }) => tool_results.map(({ name }) => name))).toEqual([['press'], []]);
    expect(trace.trace_id).toMatch(/^[0-9a-f]{32}$/);
  });

  it('takes a handle with arguments, a full name, a reference model and a scripted one', async () => {
    const { turn } = createSwitch();
    await using env = await openEnvironment(source, silent);
    expect((await env.run(turn.with({ wanted: 'on' }), { model: 'proctor/noop' })).reward).toBe(0);
    const random = await env.run('switch:turn', { wanted: 'on' }, { model: 'proctor/random', seed: 3, maxSteps: 4 });
    expect(random).toMatchObject({ seed: 3, max_steps: 4, status: 'completed', scenario_name: 'turn' });
    const model = scriptedModel([{ toolCalls: [{ name: 'press' }, { name: 'setup' }] }, 'It is on.']);
    const scripted = await env.run(turn.with({ wanted: 'on' }), { model });
    expect(scripted).toMatchObject({ reward: 1, answer: 'It is on.', model: 'scripted' });
    expect(scripted.steps[0]?.tool_results.map(({ is_error }) => is_error)).toEqual([false, true]);
    expect(model.requests[0]?.messages[0]).toMatchObject({ role: 'system', content: 'You press.' });
  });

  it('plays in an environment of its own', async () => {
    await using env = await openEnvironment(source);
    const started = await env.setup('turn', { wanted: 'off' });
    await env.run('turn', { wanted: 'on' });
    expect((await env.agent.read('switch://state')).text).toBe('false');
    expect(await started.evaluate('')).toMatchObject({ reward: 1 });
  });

  it('gives a run that failed as a trace that says why', async () => {
    await using env = await openEnvironment(source, silent);
    const broken = await env.run('broken', {}, { model: scriptedModel(['Done.']) });
    expect(broken).toMatchObject({ status: 'failed', reward: null, error: { boundary: 'evaluate' } });
    expect(JSON.stringify(broken)).toContain('no reward to be had');
    expect(await env.run('turn', { wanted: 'maybe' })).toMatchObject({
      status: 'failed',
      error: { boundary: 'setup' },
    });
    const wordless = await env.run('turn', { wanted: 'on' }, { model: scriptedModel([new Error('quota')]) });
    expect(wordless).toMatchObject({
      status: 'failed',
      error: { boundary: 'model', message: expect.stringContaining('quota') },
    });
  });

  it('goes on after a tool that throws: the model is told that it failed, and nothing more', async () => {
    await using env = await openEnvironment(source);
    const model = scriptedModel([{ toolCalls: [{ name: 'burn' }] }, { toolCalls: [{ name: 'press' }] }, 'It is on.']);
    const trace = await env.run('turn', { wanted: 'on' }, { model });
    expect(trace).toMatchObject({ status: 'completed', reward: 1 });
    expect(trace.steps[0]?.tool_results[0]).toMatchObject({ name: 'burn', is_error: true });
    expect(JSON.stringify(trace.steps)).not.toContain('the fuse is gone');
  });

  it('is cancelled by its signal', async () => {
    const abort = new AbortController();
    await using env = await openEnvironment(source);
    const model = scriptedModel(() => {
      abort.abort();
      return new Promise<never>(() => {});
    });
    expect(await env.run('turn', { wanted: 'on' }, { model, signal: abort.signal })).toMatchObject({
      status: 'cancelled',
    });
    expect(await env.run('turn', { wanted: 'on' }, { signal: abort.signal })).toMatchObject({ status: 'cancelled' });
  });

  it('refuses a model and options that do not exist before anything runs', async () => {
    await using env = await openEnvironment(source);
    await expect(env.run('turn', {}, { model: 'gpt-5-mini' })).rejects.toThrow(/gpt-5-mini.*proctor\/oracle/);
    await expect(env.run('turn', {}, { maxSteps: 0 })).rejects.toThrow(/maxSteps/);
    await expect(env.run('turn', {}, { timeoutSeconds: 1.5 })).rejects.toThrow(/timeoutSeconds/);
  });
});
