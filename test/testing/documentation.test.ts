import { readFileSync } from 'node:fs';
import { EnvironmentServer } from 'proctor';
import { type Clock, fakeClock, openEnvironment, scriptedModel } from 'proctor/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import Counter from '../../environments/counter/environment.ts';

const page = readFileSync(new URL('../../docs/testing.md', import.meta.url), 'utf8');
const self = readFileSync(new URL(import.meta.url), 'utf8');

function createDoor() {
  let isOpen = true;
  const env = new EnvironmentServer({ name: 'door' });
  env.tool('push', {}, () => {
    isOpen = !isOpen;
  });
  const shut = env.scenario('shut', { args: { times: z.int().default(1) } }, async function* ({ times }) {
    isOpen = true;
    yield `Push the door ${times} times.`;
    return !isOpen;
  });
  return { env, shut };
}

describe('the examples of docs/testing.md', () => {
  it('play the three runs', async () => {
    await using env = await openEnvironment(Counter);
    expect(await env.run('count_to', { target: 3 })).toMatchObject({ error: null, reward: 1 });
    expect((await env.run('count_to', { target: 3 }, { model: 'proctor/noop' })).reward).toBe(0);
    const model = scriptedModel([{ toolCalls: [{ name: 'increment', arguments: { by: 2 } }] }, 'The counter shows 3.']);
    const trace = await env.run('count_to', { target: 3 }, { model });
    expect(trace).toMatchObject({ error: null, reward: 0, answer: 'The counter shows 3.' });
    expect(trace.steps[0]?.tool_results[0]).toMatchObject({ name: 'increment', is_error: false });
  });

  it('go step by step', async () => {
    await using env = await openEnvironment(Counter);
    const task = await env.setup('count_to', { target: 3 });
    expect(task.prompt[0]?.content).toContain('exactly 3');
    expect((await env.agent.call('increment', { by: 3 })).text).toBe('3');
    expect(await task.evaluate('The counter shows 3.')).toMatchObject({ reward: 1 });
  });

  it('use a handle of a factory', async () => {
    const { shut } = createDoor();
    await using env = await openEnvironment(() => createDoor().env);
    expect((await env.run(shut.with({ times: 1 }), { model: 'proctor/noop' })).reward).toBe(0);
    expect((await env.run(shut.with(), { model: scriptedModel([{ toolCalls: [{ name: 'push' }] }, '']) })).reward).toBe(
      1,
    );
  });

  it('move the time', async () => {
    const oven = ({ now, sleep }: Clock) =>
      new EnvironmentServer({ name: 'oven' }).tool('bake', { args: { ms: z.int() } }, async ({ ms }, { signal }) => {
        const from = now();
        await sleep(ms, signal);
        return `baked for ${now() - from} ms`;
      });

    const clock = fakeClock();
    await using env = await openEnvironment(() => oven(clock));
    const baking = env.agent.call('bake', { ms: 3_600_000 });
    await clock.sleeping(); // the call has arrived, and waits
    await clock.advance(3_600_000);
    expect((await baking).text).toBe('baked for 3600000 ms');
  });

  it('are these', () => {
    const lines = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].flatMap(([, code = '']) => code.split('\n'));
    const shown = lines.map((line) => line.trim().replace(/^export (default )?/, ''));
    const known = new Set(self.split('\n').map((line) => line.trim()));
    const isExample = (line: string) => line !== '' && !/^(import|it\(|\/\/)/.test(line) && !ASIDES.has(line);
    expect(shown.filter((line) => isExample(line) && !known.has(line))).toEqual([]);
  });
});

/** Lines of the page that stand here in another form. */
const ASIDES: ReadonlySet<string> = new Set([
  "await env.run('count_to', { target: 3 }); // proctor/oracle, which plays the solution",
  "await env.run('count_to', { target: 3 }, { model: 'proctor/noop' });",
  '() => createDoor().env;',
  "await env.run(shut.with({ times: 1 }), { model: 'proctor/noop' });",
]);
