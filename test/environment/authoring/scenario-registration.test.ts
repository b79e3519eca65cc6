import { EnvironmentServer, Hub } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { definitionOf } from './fixtures.ts';

const newEnvironment = () => new EnvironmentServer({ name: 'exam' });

describe('registering a scenario', () => {
  const go = async function* () {
    yield 'Go.';
    return 1;
  };

  it('keeps what its configuration says', async () => {
    const environment = newEnvironment();
    const config = { description: 'A task.', tools: ['read_*'], system: 'Be brief.', chat: { greeting: 'Hi' } };
    const solution = ({ target }: { target: number }) => ({ calls: [], answer: target });
    environment.scenario('task', { ...config, args: { target: z.number() }, solution }, go);
    const scenario = definitionOf(environment).scenarios.get('task');
    expect(scenario).toMatchObject(config);
    expect(await scenario?.solution?.({ target: 3 })).toEqual({ calls: [], answer: 3 });
  });

  it('refuses a duplicate, a prompt of its name, and a bad name', () => {
    const environment = newEnvironment();
    environment.scenario('task', {}, go);
    expect(() => environment.scenario('task', {}, go)).toThrow('already has a scenario named "task"');
    expect(() => environment.prompt('task', {}, () => 'Hi')).toThrow('already has a scenario named "task"');
    environment.prompt('greet', {}, () => 'Hi');
    expect(() => environment.scenario('greet', {}, go)).toThrow('already has a prompt named "greet"');
    expect(() => environment.scenario('a:b', {}, go)).toThrow('Scenario name "a:b"');
  });

  it.each(['setup', 'evaluate', 'solution'] as const)(
    'refuses the name of a function of the hub %s, whichever comes first',
    (name) => {
      const taken = `already has a scenario and a function of the hub ${name} named "task"`;
      const hub = () => new Hub(name).tool('task', {}, () => 1);
      expect(() => newEnvironment().mount(hub()).scenario('task', {}, go)).toThrow(taken);
      const scenarioFirst = newEnvironment();
      scenarioFirst.scenario('task', {}, go);
      expect(() => scenarioFirst.mount(hub())).toThrow(taken);
      const functionLast = newEnvironment();
      const growing = new Hub(name);
      functionLast.mount(growing).scenario('task', {}, go);
      growing.tool('task', {}, () => 1);
      expect(() => definitionOf(functionLast)).toThrow(taken);
    },
  );

  it('refuses args, an answer, tools or a solution that are none, by name', () => {
    const environment = newEnvironment();
    expect(() => environment.scenario('task', { args: { day: z.date() } }, go)).toThrow(
      'Scenario "task", args, field "day"',
    );
    expect(() => environment.scenario('task', { answer: z.date() }, go)).toThrow('Scenario "task", answer: Date');
    // @ts-expect-error a list
    expect(() => environment.scenario('task', { tools: 'read' }, go)).toThrow('tools has to be a list of patterns');
    // @ts-expect-error a function
    expect(() => environment.scenario('task', { solution: { calls: [] } }, go)).toThrow(
      'solution has to be a function',
    );
    // @ts-expect-error a generator, or hub functions
    expect(() => environment.scenario('task', {})).toThrow('needs an async generator function as its third argument');
    expect(definitionOf(environment).scenarios.size).toBe(0);
  });

  it('gives a handle that makes the fields of a request', () => {
    const environment = newEnvironment();
    const task = environment.scenario('task', { args: { target: z.number() } }, go);
    expect(task.with({ target: 3 })).toEqual({ scenario: 'task', scenario_args: { target: 3 } });
    expect(environment.scenario('plain', {}, go).with()).toEqual({ scenario: 'plain', scenario_args: {} });
  });
});
