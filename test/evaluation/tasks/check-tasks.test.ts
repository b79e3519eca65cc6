import { describe, expect, it } from 'vitest';
import { ApiError, BoundaryError } from '../../../src/contract/errors.ts';
import type { ScenarioEntry } from '../../../src/contract/scenario.ts';
import type { Task } from '../../../src/contract/task.ts';
import { argumentIssues } from '../../../src/environment/client/scenario-args.ts';
import { checkTasks, type ScenarioCatalogue } from '../../../src/evaluation/tasks/check-tasks.ts';
import { readTasksetFile } from '../../../src/evaluation/tasks/read-taskset-file.ts';
import { createTaskset } from '../../../src/evaluation/tasks/taskset.ts';
import { directoryWith, line, refusalOf, task } from './files.ts';

const SCHEMA = {
  type: 'object',
  properties: { target: { type: 'integer', minimum: 0 } },
  required: ['target'],
  additionalProperties: false,
};

/** One environment with one scenario. It counts how often it is asked. */
function createCatalogue(schema: object = SCHEMA) {
  const asked: string[] = [];
  const entry: ScenarioEntry = {
    name: 'counter:count_to',
    short_name: 'count_to',
    description: '',
    required_args: ['target'],
    arguments: [],
    args_schema: { ...schema },
  };
  const catalogue: ScenarioCatalogue = {
    async find(environment, scenario) {
      asked.push(`${environment}/${scenario}`);
      if (environment === 'broken') throw new BoundaryError('environment', 'environment_failed', 'It does not start');
      if (environment !== 'counter') throw new ApiError('env_not_found', `No environment "${environment}"`);
      if (scenario !== 'count_to') throw new ApiError('scenario_not_found', `No scenario "${scenario}"`);
      return entry;
    },
    argumentIssues,
  };
  return { asked, catalogue };
}

function check(tasks: readonly Task[], { catalogue } = createCatalogue()) {
  return checkTasks(createTaskset(null, tasks), catalogue);
}

describe('tasks before they run', () => {
  it('are in order where environment, scenario and arguments are', async () => {
    await check([task('a'), task('b', { args: { target: 0 } })]);
  });

  it.each([
    ['env_not_found', { env: 'conter' }, 'tasks[1].env', 'No environment "conter"'],
    ['scenario_not_found', { scenario: 'count' }, 'tasks[1].scenario', 'No scenario "count"'],
    ['invalid_scenario_args', { args: { target: 'x' } }, 'tasks[1].args.target', 'It must be integer, got "x".'],
    ['invalid_scenario_args', { args: {} }, 'tasks[1].args.target', 'It is required.'],
    ['invalid_scenario_args', { args: { target: 1, to: 2 } }, 'tasks[1].args.to', 'It is not an argument that exists.'],
    ['invalid_scenario_args', { args: { target: 2 ** 60 } }, 'tasks[1].args.target', 'It must be <= 9007199254740991'],
    ['request_too_large', { args: { target: 1, to: 'x'.repeat(1024 * 1024) } }, 'tasks[1].args', 'It is 1048'],
  ])('are refused with %s by their index', async (code, others, param, words) => {
    const refusal = await refusalOf(check([task('b'), task('a', others)]));
    expect(refusal).toMatchObject({ code, param });
    expect(refusal.message).toContain(`${param}: ${words}`);
  });

  it('are refused by the line of their file, the first ones first', async () => {
    const lines = Array.from({ length: 3_000 }, (_, index) => line(`t${index}`, index % 2 === 0 ? {} : { args: {} }));
    const path = `${directoryWith({ 'a.jsonl': lines.join('\n') })}/a.jsonl`;
    const refusal = await refusalOf(
      checkTasks(await readTasksetFile(path, { label: 'a.jsonl' }), createCatalogue().catalogue),
    );
    const shown = refusal.message.split('\n');
    expect(shown.slice(0, 2)).toEqual([
      'a.jsonl:2: args.target: It is required.',
      'a.jsonl:4: args.target: It is required.',
    ]);
    expect(shown.slice(20)).toEqual(['and 1480 more']);
    expect(refusal.param).toBe('tasks');
  });

  it('look up each scenario once, and an environment that is not there once', async () => {
    const { asked, catalogue } = createCatalogue();
    const tasks = Array.from({ length: 500 }, (_, index) => [
      task(`a${index}`),
      task(`b${index}`, { env: 'never', scenario: `s${index}` }),
    ]).flat();
    await refusalOf(check(tasks, { asked, catalogue }));
    expect(asked.filter((name) => name === 'counter/count_to')).toHaveLength(1);
    expect(asked.filter((name) => name.startsWith('never/'))).toHaveLength(1);
  });

  it('fail with an environment that cannot be started, which is no fault of a task', async () => {
    await expect(check([task('a', { env: 'broken' })])).rejects.toThrow('It does not start');
  });

  it('stop being checked when the signal is aborted', async () => {
    const signal = AbortSignal.abort(new Error('no longer wanted'));
    const checking = checkTasks(createTaskset(null, [task('a')]), createCatalogue().catalogue, signal);
    await expect(checking).rejects.toThrow('no longer wanted');
  });

  it('are 100,000 at most, and let the process do other things meanwhile', { timeout: 120_000 }, async () => {
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    const tasks = Array.from({ length: 100_000 }, (_, index) => task(`t${index}`, { args: { target: index } }));
    await check(tasks);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
  });
});
