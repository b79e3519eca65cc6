import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Json } from '../../../src/contract/json.ts';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { type ServerHandle, serve } from '../../../src/environment/server/serve.ts';
import { until } from '../../until.ts';
import lively from './fixtures/lively/environment.ts';
import SlowStart from './fixtures/slow-start/environment.ts';
import { connections, failureOf, fixture } from './harness.ts';

const { connect, logs, messages } = connections();

const KEY = 'the-key-of-this-test';
let server: ServerHandle;
let slowServer: ServerHandle;
const address = () => ({ kind: 'url', url: server.url as string }) as const;

beforeAll(async () => {
  server = await serve(lively, { transport: 'http', port: 0, harnessKey: KEY });
  slowServer = await serve(SlowStart, { transport: 'http', port: 0, harnessKey: KEY });
});
afterAll(() => Promise.all([server.close(), slowServer.close()]));

const targets: readonly (readonly [string, () => EnvironmentTarget])[] = [
  ['in this process', () => inMemory(lively)],
  ['at an address', () => ({ ...address(), harnessKey: KEY })],
  ['in a process of its module', () => ({ kind: 'module', path: fixture('lively/environment.ts') })],
];

const slowStarts: { readonly [kind: string]: () => EnvironmentTarget } = {
  memory: () => inMemory(SlowStart),
  url: () => ({ kind: 'url', url: slowServer.url as string }),
  module: () => ({ kind: 'module', path: fixture('slow-start/environment.ts') }),
};

describe.each(targets)('an environment %s', (_kind, target) => {
  it('says its name and version, and lists its scenarios', async () => {
    const client = await connect(target());
    expect(client).toMatchObject({ name: 'lively', version: '2.1.0', protocol: '2025-11-25' });
    const scenarios = await client.scenarios();
    expect(scenarios[0]).toMatchObject({
      name: 'lively:count_to',
      short_name: 'count_to',
      description: 'Count to a number.',
      required_args: ['target'],
    });
  });

  it('plays a scenario from setup to reward, by its short or its full name', async () => {
    for (const name of ['count_to', 'lively:count_to']) {
      const client = await connect(target());
      const setup = await client.setup(name, { target: 3 });
      expect(setup).toEqual({
        scenario: 'count_to',
        prompt: [{ role: 'user', content: 'Count to 3.' }],
        system: 'You count.',
        tools: ['add', 're*'],
        answer_schema: null,
      });
      const tools = await client.tools({ patterns: setup.tools });
      expect(tools.map((tool) => tool.name)).toEqual(['add', 'read', 'report', 'refuse']);
      expect(tools[0]).toMatchObject({ description: 'Counts.', input_schema: { type: 'object' }, annotations: {} });
      expect(tools[1]?.annotations).toEqual({ readOnlyHint: true });
      expect(await client.call('add', { by: 3 })).toEqual({
        content: [{ type: 'text', text: '{"count":3}' }],
        structured_content: { count: 3 },
        is_error: false,
      });
      expect(await client.evaluate(name, 'three')).toEqual({
        reward: 1,
        done: true,
        content: null,
        info: { answer: 'three' },
        subscores: [],
        is_error: false,
      });
      await client.close();
    }
  });

  it('gives the solution, at once or call by call', async () => {
    const client = await connect(target());
    expect(await client.solution('count_to', { target: 2 }, [])).toEqual({
      calls: [{ name: 'add', arguments: { by: 2 } }],
      answer: 'done',
      done: true,
    });
    await client.setup('stepwise', {});
    const results = [];
    for (const isLast of [false, false, true]) {
      const { calls, answer, done } = await client.solution('stepwise', {}, results);
      for (const call of calls) results.push(await client.call(call.name, call.arguments));
      expect(done).toBe(isLast);
      if (done) expect((await client.evaluate('stepwise', answer)).reward).toBe(1);
    }
    expect(results.map((result) => result.structured_content)).toEqual([{ count: 2 }, { count: 4 }]);
  });

  it('gets the meta of the caller, and never sees the key', async () => {
    const client = await connect(target(), { meta: { display_width: 640, seed: 7 } });
    const { structured_content } = await client.call('read', {});
    expect(structured_content?.display).toMatchObject({ display_width: 640, display_height: 1080, seed: 7 });
    expect(JSON.stringify(structured_content)).not.toContain('harness_key');
  });

  it('hands on log and progress', async () => {
    const client = await connect(target());
    const steps: unknown[] = [];
    await client.call('report', {}, { onProgress: (step) => steps.push(step) });
    expect(steps).toEqual([{ progress: 50, total: 100, message: 'half way' }]);
    expect(logs).toContainEqual({ level: 'warning', logger: 'environment', message: 'half way' });
  });

  it('that a tool of fails goes on: the agent is told, the cause is logged', async () => {
    const client = await connect(target());
    const failed = await client.call('fail', {});
    expect(failed).toMatchObject({ is_error: true, structured_content: null });
    expect(JSON.stringify(failed)).not.toContain('swordfish');
    await until(() => messages().some((line) => line.includes('swordfish')));
    expect(await client.call('refuse', {})).toMatchObject({
      is_error: true,
      content: [{ type: 'text', text: 'Only one at a time' }],
    });
    expect(await client.call('add', { by: 'two' })).toMatchObject({ is_error: true });
    expect(await client.call('add', {})).toMatchObject({ is_error: false });
  });

  it('is not sent what is nested without measure: an agent is told, and a harness that asks fails', async () => {
    const client = await connect(target());
    let deep: Json = [];
    for (let depth = 0; depth < 500; depth += 1) deep = [deep];
    expect(await client.call('add', { by: deep })).toEqual({
      content: [{ type: 'text', text: 'The arguments of add are nested more than 200 deep' }],
      structured_content: null,
      is_error: true,
    });
    const refused = await failureOf(client.setup('count_to', { target: deep }));
    expect(refused).toMatchObject({ boundary: 'setup', code: 'environment_failed' });
    expect(await client.call('add', {})).toMatchObject({ is_error: false });
  });

  it('tells an agent that calls a tool of the harness the same as of one that does not exist', async () => {
    const client = await connect(target());
    const listed = (await client.tools()).map((tool) => tool.name);
    for (const name of ['setup', 'evaluate', 'solution', 'nope']) {
      const result = await client.call(name, { name: 'count_to', arguments: { target: 0 } });
      expect(result.is_error).toBe(true);
      expect(result.content).toEqual([{ type: 'text', text: `Unknown tool: ${name}` }]);
      expect(listed).not.toContain(name);
    }
  });

  it('aborts a tool that does not return, which sees it, and goes on', async () => {
    const client = await connect(target());
    const controller = new AbortController();
    const reason = new Error('the client left');
    const call = client.call('hang', {}, { signal: controller.signal });
    const rejection = expect(call).rejects.toBe(reason);
    await client.call('read', {});
    controller.abort(reason);
    await rejection;
    const limited = await failureOf(client.call('hang', {}, { timeoutMs: 50 }));
    expect(limited.boundary).toBe('tool');
    expect(limited.message).toBe('The environment "lively" did not finish running the tool "hang" within 50 ms');
    await until(async () => (await client.call('read', {})).structured_content?.aborted_calls === 2);
  });

  it('whose setup throws is a failure of setup, in the words of the environment', async () => {
    const client = await connect(target());
    const error = await failureOf(client.setup('setup_throws', {}));
    expect(error).toMatchObject({ boundary: 'setup', code: 'environment_failed' });
    expect(error.message).toMatch(
      /^The environment "lively" failed while running the setup of the scenario "setup_throws": /,
    );
  });

  it('whose setup hangs is given up at the limit', async () => {
    const client = await connect(target());
    const error = await failureOf(client.setup('setup_hangs', {}, { timeoutMs: 100 }));
    expect(error).toMatchObject({ boundary: 'setup' });
    expect(error.message).toContain('did not finish running the setup of the scenario "setup_hangs" within 100 ms');
  });

  it('without a second half is a failure of evaluate', async () => {
    const client = await connect(target());
    await client.setup('without_evaluation', {});
    const error = await failureOf(client.evaluate('without_evaluation', ''));
    expect(error.boundary).toBe('evaluate');
    expect(error.message).toMatch(
      /^The environment "lively" failed while evaluating the scenario "without_evaluation": /,
    );
  });

  it('refuses a scenario that it does not have, and wrong arguments, by name', async () => {
    const client = await connect(target());
    expect((await failureOf(client.setup('count_down', {}))).message).toContain('count_down');
    expect((await failureOf(client.setup('count_to', { target: -1 }))).message).toContain('target');
    expect(await failureOf(client.solution('setup_throws', {}, []))).toMatchObject({
      boundary: 'setup',
      message: expect.stringContaining('The scenario "setup_throws" has no solution'),
    });
  });

  it('is closed once, twice and while a call runs, which fails', async () => {
    const client = await connect(target());
    const call = failureOf(client.call('hang', {}));
    await client.call('read', {});
    await Promise.all([client.close(), client.close()]);
    await client.close();
    expect((await call).message).toContain('while running the tool "hang"');
    expect((await failureOf(client.tools())).boundary).toBe('environment');
  });

  it('that starts too slowly is given up at the limit, and so is one that is not wanted any more', async () => {
    const slow = slowStarts[target().kind]?.() as EnvironmentTarget;
    const error = await failureOf(connect(slow, { timeoutMs: 1_000 }));
    expect(error.boundary).toBe('environment');
    expect(error.message).toMatch(/did not finish connecting within 1000 ms\. Its initialize hook/);
    const controller = new AbortController();
    const connecting = connect(slow, { signal: controller.signal });
    const rejection = expect(connecting).rejects.toThrow('not wanted');
    if (slow.kind === 'module') await until(() => messages().includes('initializing for ever'));
    controller.abort(new Error('not wanted'));
    await rejection;
  });
});

describe('an environment at an address', () => {
  it.each([
    ['without its key', {}, 'no harness key was given'],
    ['with a wrong key', { harnessKey: 'another' }, 'the harness key may be wrong'],
  ])(
    '%s is one for agents: tools work, setup is unknown and the failure says to set the key',
    async (_how, key, why) => {
      const client = await connect({ ...address(), ...key });
      expect(await client.call('add', {})).toMatchObject({ is_error: false });
      expect(await client.scenarios()).not.toEqual([]);
      const error = await failureOf(client.setup('count_to', { target: 1 }));
      expect(error).toMatchObject({ boundary: 'setup', code: 'environment_failed' });
      expect(error.message).toBe(
        'The environment "lively" does not know the hub "setup". ' +
          `It has no scenarios, or ${why}: set "harnessKey" of this environment to the server's PROCTOR_HARNESS_KEY.`,
      );
    },
  );
});

describe('an environment in this process', () => {
  it('that is none is refused', async () => {
    const error = await failureOf(connect(inMemory({ name: 'counter' })));
    expect(error).toMatchObject({ boundary: 'environment', code: 'environment_failed' });
    expect(error.message).toMatch(/^The environment in this process could not be made: /);
  });
});
