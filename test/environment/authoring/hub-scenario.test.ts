import { EnvironmentServer, Hub } from 'proctor';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { definitionOf, startScenario } from './fixtures.ts';

const received: unknown[] = [];
const CONFIG = {
  args: { target: z.number(), label: z.string().optional(), tags: z.array(z.string()).default([]) },
  prompt: 'Count to {{target}}{{ label }}, with {{tags}}.',
  setup: {
    name: 'seed',
    arguments: { value: '{{target}}', note: 'to {{target}}', label: '{{label}}', tags: ['{{tags}}'] },
  },
  evaluate: { name: 'judge', arguments: { wanted: '{{target}}', answer: '{{answer}}' } },
} as const;

beforeEach(() => {
  received.length = 0;
});

function newEnvironment() {
  const setup = new Hub('setup').tool('seed', { args: z.looseObject({ value: z.number() }) }, (args) => {
    received.push(args);
  });
  const evaluate = new Hub('evaluate').tool(
    'judge',
    { args: { wanted: z.number(), answer: z.string() } },
    ({ wanted, answer }) => ({ reward: answer === String(wanted) ? 1 : 0, info: { wanted } }),
  );
  return { environment: new EnvironmentServer({ name: 'exam' }), setup, evaluate };
}

describe('a scenario of hub functions alone', () => {
  it('fills {{arg}} from its arguments; a value that is one placeholder keeps its type, or is left out', async () => {
    const { environment, setup, evaluate } = newEnvironment();
    environment.scenario('count', CONFIG);
    environment.mount(setup).mount(evaluate);
    const run = await startScenario(environment, 'count', { target: 3, tags: ['a', 'b'] });
    expect(await run.prompt()).toEqual([{ role: 'user', content: 'Count to 3, with ["a","b"].' }]);
    expect(received).toEqual([{ value: 3, note: 'to 3', tags: [['a', 'b']] }]);
    expect(await run.evaluate('3')).toMatchObject({ reward: 1, info: { wanted: 3 } });
    await run.close();
  });

  it('fills what it was given once: a placeholder in an argument stays text', async () => {
    const { environment, setup, evaluate } = newEnvironment();
    environment.mount(setup).mount(evaluate).scenario('count', CONFIG);
    const run = await startScenario(environment, 'count', { target: 3, label: ' {{target}}', tags: [] });
    expect(await run.prompt()).toEqual([{ role: 'user', content: 'Count to 3 {{target}}, with [].' }]);
  });

  it('fills messages too', async () => {
    const { environment, setup, evaluate } = newEnvironment();
    const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Count to {{target}}.' }] }];
    environment
      .mount(setup)
      .mount(evaluate)
      .scenario('count', { ...CONFIG, prompt });
    const run = await startScenario(environment, 'count', { target: 3 });
    expect(await run.prompt()).toEqual([{ role: 'user', content: [{ type: 'text', text: 'Count to 3.' }] }]);
  });

  it('reports arguments that the function does not take, by name', async () => {
    const { environment, setup, evaluate } = newEnvironment();
    environment
      .mount(setup)
      .mount(evaluate)
      .scenario('count', { ...CONFIG, setup: { name: 'seed', arguments: { value: 'x' } } });
    const run = await startScenario(environment, 'count', { target: 3 });
    await expect(run.prompt()).rejects.toThrow(
      'Scenario "count": setup function "seed": value: expected number, got "x"',
    );
  });

  it('without an evaluation is an error', async () => {
    const { environment, setup } = newEnvironment();
    const evaluate = new Hub('evaluate').tool('nothing', {}, () => {});
    environment
      .mount(setup)
      .mount(evaluate)
      .scenario('count', { ...CONFIG, evaluate: { name: 'nothing' } });
    const run = await startScenario(environment, 'count', { target: 3 });
    await run.prompt();
    await expect(run.evaluate('')).rejects.toMatchObject({ name: 'EvaluationMissingError' });
  });

  it('refuses a placeholder that is not one of its arguments, at registration', () => {
    const { environment } = newEnvironment();
    // A literal would not compile.
    const prompt: string = 'To {{goal}}.';
    expect(() => environment.scenario('count', { ...CONFIG, prompt })).toThrow(
      'Scenario "count": {{goal}} in prompt is not one of its arguments: ["target","label","tags"]',
    );
    const setup = { name: 'seed', arguments: { deep: [{ value: '{{answer}}' }] } };
    expect(() => environment.scenario('count', { ...CONFIG, setup })).toThrow('{{answer}} in setup');
  });

  it('refuses an argument that would stand in for the agent’s answer', () => {
    const { environment } = newEnvironment();
    const args = { ...CONFIG.args, answer: z.number() };
    const evaluate = { name: 'check', arguments: { given: '{{answer}}' } };
    expect(() => environment.scenario('count', { ...CONFIG, args, evaluate })).toThrow('rename the argument');
  });

  it('is refused when it is opened while its hub or function is missing, with what there is', () => {
    const missing = newEnvironment();
    missing.environment.scenario('count', CONFIG);
    expect(() => definitionOf(missing.environment)).toThrow('needs the hub "setup", which is not mounted');
    const other = newEnvironment();
    other.environment
      .mount(other.setup)
      .mount(other.evaluate)
      .scenario('count', { ...CONFIG, setup: { name: 'sow' } });
    expect(() => definitionOf(other.environment)).toThrow('the hub "setup" has no function "sow"; it has ["seed"]');
  });
});
