import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createTasksets, type DeclaredTasks } from '../../../src/evaluation/tasks/find-tasksets.ts';
import { directoryWith, line, refusalOf } from './files.ts';

/** Environments by name, scenarios of each by name: what they declare, null for nothing, or what they throw. */
type Environments = Readonly<Record<string, Readonly<Record<string, readonly unknown[] | null | Error>> | Error>>;

function declare(environments: Environments = {}): DeclaredTasks & { readonly asked: string[] } {
  const asked: string[] = [];
  const scenariosOf = (name: string) => {
    asked.push(name);
    const found = environments[name];
    if (found === undefined || found instanceof Error) throw found ?? new Error('It is not there');
    return found;
  };
  return {
    asked,
    environments: () => Object.keys(environments),
    declaringScenarios: async (name) =>
      Object.entries(scenariosOf(name)).flatMap(([scenario, tasks]) => (tasks === null ? [] : [scenario])),
    find: async (name, scenario) => {
      if (!Object.hasOwn(scenariosOf(name), scenario)) throw new Error('It is not there');
    },
    declaredTasks: async (name, scenario) => {
      const tasks = scenariosOf(name)[scenario];
      if (tasks == null || tasks instanceof Error) throw tasks ?? new Error('It declares none');
      return tasks;
    },
  };
}

function tasksetsOf(files: Readonly<Record<string, string>>, environments: Environments = {}) {
  const directory = directoryWith(files);
  return { directory, tasksets: createTasksets({ directory, declared: declare(environments) }) };
}

const DOOR = {
  door: {
    push: [
      { id: 'a', args: { times: 2 }, split: 'test' },
      { id: 'b', cluster: 'c' },
    ],
  },
};

describe('the tasksets of a directory', () => {
  it('are the files of its folder by their path without the ending, and what scenarios declare', async () => {
    const { tasksets } = tasksetsOf(
      {
        'tasksets/small.jsonl': line('a'),
        'tasksets/deep/er/big.yaml': `- ${line('a')}\n- ${line('b')}\n`,
        'tasksets/notes.md': '# no taskset',
        'tasksets/.hidden.json': '[]',
        'tasksets/types.d.ts': 'export default 1;',
        'other.jsonl': line('a'),
      },
      DOOR,
    );
    expect((await tasksets.list()).map(({ name, tasks, error }) => [name, tasks, error])).toEqual([
      ['deep/er/big', 2, null],
      ['door/push', 2, null],
      ['small', 1, null],
    ]);
    const loaded = await tasksets.load('deep/er/big');
    expect(loaded).toMatchObject({ name: 'deep/er/big', origin: { file: 'tasksets/deep/er/big.yaml', by: 'line' } });
    expect((await tasksets.list())[0]?.version).toBe(loaded.version);
  });

  it('are read again each time', async () => {
    const { directory, tasksets } = tasksetsOf({ 'tasksets/small.jsonl': line('a') });
    const { version } = await tasksets.load('small');
    writeFileSync(join(directory, 'tasksets/small.jsonl'), line('b'));
    expect((await tasksets.load('small')).version).not.toBe(version);
    writeFileSync(join(directory, 'tasksets/new.jsonl'), line('b'));
    expect((await tasksets.load('new')).tasks).toHaveLength(1);
  });

  it.each([
    ...['../other', 'tasksets/small', './small', 'small.jsonl', '/etc/passwd', 'deep/../small', 'small\0', '', 'SMALL'],
    ...['..%2fother', 'small/', '//small', 'deep\\small', '__proto__', 'door/push/../push', 'door/__proto__'],
  ])('have no other path: %j is not found', async (name) => {
    const { tasksets } = tasksetsOf({ 'tasksets/small.jsonl': line('a'), 'other.jsonl': line('a') }, DOOR);
    await expect(tasksets.load(name)).rejects.toMatchObject({ code: 'taskset_not_found', param: 'tasks', status: 404 });
  });

  it('are listed by the error for a name that is not there', async () => {
    const { tasksets } = tasksetsOf({ 'tasksets/small.jsonl': line('a') }, DOOR);
    await expect(tasksets.load('smal')).rejects.toThrow(
      'No taskset is named "smal". Did you mean "small"? Tasksets: door/push, small.',
    );
    await expect(tasksetsOf({}).tasksets.load('any')).rejects.toThrow(
      'There are none: put files into the folder tasksets',
    );
  });

  it('are missing where an environment or its scenario has none: the error says so, and how to add them', async () => {
    const { tasksets } = tasksetsOf({}, { ...DOOR, hall: { walk: null } });
    const refused = { code: 'taskset_not_found', param: 'tasks' };
    await expect(tasksets.load('hall/walk')).rejects.toMatchObject({
      ...refused,
      message: expect.stringMatching(
        /^The scenario "hall\/walk" has no tasks\. Declare its "tasks"\. Or write tasks into a file/,
      ),
    });
    await expect(tasksets.load('hall')).rejects.toMatchObject({
      ...refused,
      message: expect.stringMatching(/^No scenario of the environment "hall" has tasks\. /),
    });
    await expect(tasksets.load('hall/run')).rejects.toThrow('No taskset is named "hall/run".');
  });

  it('are no links that lead out of the folder, or nowhere', async () => {
    const { directory, tasksets } = tasksetsOf({ 'tasksets/small.jsonl': line('a'), 'secret/keys.jsonl': line('a') });
    const folder = join(directory, 'tasksets');
    symlinkSync(join(directory, 'secret/keys.jsonl'), join(folder, 'keys.jsonl'));
    symlinkSync(join(directory, 'secret'), join(folder, 'secret'));
    symlinkSync(join(directory, 'nothing'), join(folder, 'nothing.jsonl'));
    symlinkSync(folder, join(folder, 'again'));
    symlinkSync(join(folder, 'small.jsonl'), join(folder, 'alias.jsonl'));
    expect((await tasksets.list()).map(({ name }) => name)).toEqual(['alias', 'small']);
  });

  it('of one name are refused by naming both', async () => {
    const files = {
      'tasksets/small.jsonl': line('a'),
      'tasksets/small.json': `[${line('a')}]`,
      'tasksets/door/push.json': '[]',
    };
    const { tasksets } = tasksetsOf(files, DOOR);
    await expect(tasksets.load('small')).rejects.toThrow(
      'tasksets/small.json and tasksets/small.jsonl have one name, "small"; rename one of them.',
    );
    await expect(tasksets.load('door/push')).rejects.toThrow(
      'tasksets/door/push.json and the scenario door/push have one',
    );
    expect((await tasksets.list()).map(({ name, version, tasks }) => [name, version, tasks])).toEqual([
      ['door/push', null, null],
      ['small', null, null],
    ]);
  });

  it('that cannot be read are listed with the reason, and hide no other', async () => {
    const { directory, tasksets } = tasksetsOf(
      { 'tasksets/bad.jsonl': '{"id": 1}', 'tasksets/small.jsonl': line('a') },
      { ...DOOR, gone: new Error('It does not start'), half: { good: [{ id: 'a' }], bad: new Error('no data') } },
    );
    mkdirSync(join(directory, 'tasksets/folder.json'));
    const list = Object.fromEntries((await tasksets.list()).map((entry) => [entry.name, entry]));
    expect(list).toMatchObject({
      bad: { version: null, tasks: null, error: expect.stringContaining('tasksets/bad.jsonl:1: id: It has to be') },
      gone: { version: null, error: 'It does not start' },
      'half/bad': { version: null, error: 'no data' },
      'half/good': { tasks: 1, error: null },
      small: { tasks: 1 },
    });
    expect(JSON.stringify(list)).not.toContain(directory);
  });

  it('of a scenario are its tasks with their environment and scenario', async () => {
    const { tasksets } = tasksetsOf({}, DOOR);
    const { name, tasks } = await tasksets.load('door/push');
    expect(name).toBe('door/push');
    const others = { env: 'door', scenario: 'push', tags: [], held_out: false };
    expect(tasks).toEqual([
      { ...others, id: 'a', args: { times: 2 }, split: 'test', cluster: 'a' },
      { ...others, id: 'b', args: {}, split: null, cluster: 'c' },
    ]);
  });

  it('of an environment are those of all its scenarios, whose ids have to differ', async () => {
    const { tasksets } = tasksetsOf(
      {},
      { door: { ...DOOR.door, pull: [{ id: 'x' }] }, twice: { a: [{ id: 'x' }], b: [{ id: 'x' }] } },
    );
    expect((await tasksets.load('door')).tasks.map(({ id, scenario }) => `${scenario} ${id}`)).toEqual([
      'push a',
      'push b',
      'pull x',
    ]);
    expect((await refusalOf(tasksets.load('twice'))).message).toBe(
      'twice: The scenarios a and b both declare the task "x"; name one of them, as "twice/a".',
    );
  });

  it.each([
    [
      [{ id: 'a', max_steps: 3 }],
      'door/push: tasks[0].max_steps: No task has this field. The fields are id, args, split',
    ],
    [[{ id: 'a' }, { args: {} }], 'door/push: tasks[1].id: It is missing'],
    [[{ id: 'a' }, { id: 'a' }], 'door/push: tasks[1].id: "a" is the id of tasks[0] too'],
    [[null], 'door/push: tasks[0]: A task has to be an object, got null.'],
    [[], 'door/push: It declares no tasks.'],
  ])('that a scenario declares are checked (%j)', async (declared, words) => {
    const { tasksets } = tasksetsOf({}, { door: { push: declared } });
    const refusal = await refusalOf(tasksets.load('door/push'));
    expect(refusal.message).toContain(words);
    expect(refusal.param).toBe('tasks');
  });

  it('start no environment for a file', async () => {
    const declared = declare({ door: {}, small: {} });
    const directory = directoryWith({ 'tasksets/deep/small.jsonl': line('a') });
    await createTasksets({ directory, declared }).load('deep/small');
    expect(declared.asked).toEqual([]);
  });
});
