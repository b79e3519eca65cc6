import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readTasksetFile } from '../../../src/evaluation/tasks/read-taskset-file.ts';
import { until } from '../../until.ts';
import { directoryWith, line, refusalOf } from './files.ts';

const LABEL = 'file';
/** For hundreds of thousands of tasks, on machines that have other things to do. */
const PATIENCE = { timeout: 120_000 } as const;

function read(name: string, content: string | Uint8Array) {
  return readTasksetFile(join(directoryWith({ [name]: content }), name), { label: LABEL });
}

async function messageFor(name: string, content: string | Uint8Array): Promise<string> {
  return (await refusalOf(read(name, content))).message;
}

const VERSION_OF_TWO = 'the same for every kind of file';
const KINDS: Readonly<Record<string, string>> = {
  'two.jsonl': `${line('a')}\n${line('b', { tags: ['x'] })}\n`,
  'two.json': `[\n${line('a')},\n${line('b', { tags: ['x'] })}]`,
  'two.yaml':
    '- {id: a, env: counter, scenario: count_to, args: {target: 3}}\n- id: b\n  env: counter\n  scenario: count_to\n  args: {target: 3}\n  tags: [x]\n',
  'named.yml': `name: mine\ntasks:\n- ${line('a')}\n- ${line('b', { tags: ['x'] })}\n`,
  'named.json': `{"name": "mine", "tasks": [${line('a')}, ${line('b', { tags: ['x'] })}]}`,
  'two.mjs': `export default [${line('a')}, ${line('b', { tags: ['x'] })}];`,
  'two.mts': `type Task = object;\nexport default async (): Promise<readonly Task[]> => [${line('a')}, ${line('b', { tags: ['x'] })}];`,
};

describe('a taskset file', () => {
  it(`has ${VERSION_OF_TWO}`, async () => {
    const read = await Promise.all(
      Object.entries(KINDS).map(([name, content]) => readTasksetFile(join(directoryWith({ [name]: content }), name))),
    );
    expect(read.map(({ tasks }) => tasks.map(({ id }) => id))).toEqual(read.map(() => ['a', 'b']));
    expect(new Set(read.map(({ version }) => version)).size).toBe(1);
    expect(read.map(({ name }) => name)).toEqual([null, null, null, 'mine', 'mine', null, null]);
  });

  it('may begin with a mark of byte order, end its lines as Windows does, have empty lines, and no line end', async () => {
    const { tasks, origin } = await read('a.jsonl', `\ufeff${line('b')}\r\n\r\n  \r\n${line('a')}`);
    expect(tasks.map(({ id }) => id)).toEqual(['a', 'b']);
    expect(origin.positions).toEqual([4, 1]);
    expect((await read('a.json', `\ufeff[${line('b')}]`)).tasks).toHaveLength(1);
    expect((await read('a.yaml', `\ufeff- ${line('b')}\r\n- ${line('c')}\r\n`)).tasks).toHaveLength(2);
  });

  it.each([
    ['a.jsonl', `${line('a')}\n\n{"id": "b", "env": 7}\n`, ['3: env: It has to be', '3: scenario: It is missing']],
    ['a.json', `[\n${line('a')},\n\n  {"id": "b",\n "env": 7, "scenario": "s"}]`, ['4: env: It has to be']],
    ['a.json', `{"tasks": [\n[], \n"x"],\n"name": "n"}`, ['2: A task has to be an object', '3: A task has to']],
    [
      'a.yaml',
      `# mine\n- ${line('a')}\n- id: b\n  env: e\n  scenario: s\n  max_steps: 0\n`,
      ['3: max_steps: It has to be'],
    ],
    ['a.yaml', `name: n\ntasks:\n\n  - id: b\n    env: e\n`, ['4: scenario: It is missing']],
    ['a.yaml', `- &a {id: a, env: e}\n- *a\n`, ['1: scenario: It is missing', '2: scenario: It is missing']],
  ])('names the line of what is wrong in it (%s)', async (name, content, places) => {
    const lines = (await messageFor(name, content)).split('\n');
    expect(lines).toHaveLength(places.length);
    for (const [index, place] of places.entries()) expect(lines[index]).toContain(`${LABEL}:${place}`);
  });

  it('refuses fields that a task does not have, and guesses the ones that are meant', async () => {
    const message = await messageFor('a.jsonl', line('a', { tag: ['x'], 'max-steps': 3, expected: 1 }));
    expect(message).toContain('file:1: tag: No task has this field. Did you mean "tags"?');
    expect(message).toContain('file:1: max-steps: No task has this field. Did you mean "max_steps"?');
    expect(message).toContain('file:1: expected: No task has this field. The fields are id, env, scenario, args');
  });

  it('names both lines of an id that two tasks have', async () => {
    expect(await messageFor('a.jsonl', `${line('a')}\n\n${line('b')}\n${line('a')}`)).toBe(
      'file:4: id: "a" is the id of line 1 too; each task needs an id of its own.',
    );
    expect(await messageFor('a.yaml', `- ${line('a')}\n- ${line('a')}\n`)).toContain(
      'file:2: id: "a" is the id of line 1',
    );
    expect(await messageFor('a.mjs', `export default [${line('a')}, ${line('a')}]`)).toContain(
      'file: tasks[1].id: "a" is the id of tasks[0] too',
    );
  });

  it('lists 20 problems, and counts the others', async () => {
    const message = await messageFor('a.jsonl', `${'{"id": 1}\n'.repeat(40)}`);
    const lines = message.split('\n');
    expect(lines).toHaveLength(21);
    expect(lines[20]).toBe('and 100 more');
  });

  it('of 100,000 lines is read, and the bad line of 100,000 is named', PATIENCE, async () => {
    const lines = Array.from({ length: 100_000 }, (_, index) => line(`task-${index}`));
    expect((await read('a.jsonl', lines.join('\n'))).tasks).toHaveLength(100_000);
    lines[4_710] = '{"id": "x", "env": "e", "scenario": "s", "split": "dev"}';
    expect(await messageFor('a.jsonl', lines.join('\n'))).toMatch(/^file:4711: split: .*got "dev"\.$/);
    lines[4_710] = line('task-17');
    expect(await messageFor('a.jsonl', lines.join('\n'))).toContain(
      'file:4711: id: "task-17" is the id of line 18 too',
    );
  });

  it.each([
    ['is not JSON', '{"id": ', 'file:2: The line is not JSON'],
    ['ends with a comma', `${line('b')},`, 'file:2: The line is not JSON'],
    ['is longer than 4 MiB', `{"id":"${'x'.repeat(4 * 1024 * 1024)}"}`, 'file:2: The line is longer than 4 MiB'],
    [
      'has a number that JSON does not have',
      line('b').replace('3', '1e999'),
      'file:2: args.target: It has to be a number',
    ],
    ['names the prototype', line('b').replace('target', '__proto__'), 'file:2: args.__proto__: It has to be called'],
    ['names the prototype of the task', line('b').replace('"args"', '"__proto__"'), 'file:2: __proto__: No task has'],
    ['is nested too deep', `${'['.repeat(50_000)}${']'.repeat(50_000)}`, 'file:2: It is nested more than 128 deep'],
    ['has control characters', line('b\u0007'), 'file:2: id: It has to be a text'],
    ['is in another encoding', Buffer.from('{"id":"\xe9"}', 'latin1'), 'file:2: It has bytes that are not UTF-8'],
  ])('names a line that %s', async (_what, bad, words) => {
    const content = Buffer.concat([Buffer.from(`${line('a')}\n`), Buffer.from(bad), Buffer.from(`\n${line('z')}\n`)]);
    const message = await messageFor('a.jsonl', content);
    expect(message).toContain(words);
    expect(message.split('\n')).toHaveLength(1);
  });

  it.each([
    ['a.json', '[{"id": "a",\n}]', 'file:2: It is not JSON'],
    ['a.json', '[1, 2', 'file:1: It is not JSON'],
    ['a.json', '[\n\n"text\nline"]', 'file:3: It is not JSON'],
    ['a.json', '7', 'file: It has to be a list of tasks, or {name, tasks}, got 7.'],
    ['a.json', '{"task": []}', 'file: A taskset has no field "task". Did you mean "tasks"?'],
    ['a.json', '{"tasks": 7}', 'file: tasks has to be a list of tasks, got 7.'],
    ['a.json', `{"name": 7, "tasks": [${line('a')}]}`, 'file: name has to be a text'],
    ['a.json', '', 'file:1: It is not JSON'],
    ['a.json', '[]', 'file: It has no tasks.'],
    ['a.jsonl', '\n', 'file: It has no tasks.'],
    ['a.yaml', '', 'file: It has to be a list of tasks'],
    ['a.yaml', '- id: a\n id: b\n', 'file:2: It is not plain YAML'],
    ['a.yaml', '- {id: a, id: b}\n', 'file:1: It is not plain YAML: Map keys must be unique'],
    ['a.yaml', '- !!js/function "x"\n', 'file:1: It is not plain YAML: Unresolved tag'],
    ['a.yaml', '- a: 1\n---\n- b: 2\n', 'file:2: It is not plain YAML'],
    ['a.yaml', `- ${'['.repeat(50_000)}`, 'file:1: It is nested more than 128 deep.'],
    [
      'a.yaml',
      `- {id: a, env: e, scenario: s, args: {x: .inf}}\n`,
      'file:1: args.x: It has to be a number that is finite',
    ],
    ['a.yaml', Buffer.from([0xff, 0xfe]), 'file: It has bytes that are not UTF-8'],
    ['a.yaml', ' '.repeat(2 * 1024 * 1024 + 1), 'file: It has 2097153 bytes; at most 2 MiB are read'],
    ['a.csv', 'id', 'file: A taskset is a file that ends with .jsonl'],
  ])('that is no taskset is refused in words (%s %j)', async (name, content, words) => {
    expect(await messageFor(name, content)).toContain(words);
  });

  it.each([
    [
      'lists of lists',
      `a: &a [l,l,l,l,l,l,l,l,l]\n${[...'bcdefghi'].map((c, i) => `${c}: &${c} [${Array(9).fill(`*${'abcdefghi'[i]}`).join()}]`).join('\n')}\ntasks: *i\n`,
    ],
    ['one long text, many times', `- &a ${'x'.repeat(1_000_000)}\n${'- *a\n'.repeat(200)}`],
  ])('of aliases that stand for too much is refused before they are expanded (%s)', async (_what, content) => {
    expect(await messageFor('a.yaml', content)).toContain('aliases stand for too much');
  });

  it('that cannot be read is refused in words without a path of the machine', async () => {
    const directory = directoryWith({ 'secret.jsonl': line('a') });
    mkdirSync(join(directory, 'folder.json'));
    const refused = async (name: string) =>
      (await refusalOf(readTasksetFile(join(directory, name), { label: name }))).message;
    expect(await refused('folder.json')).toBe('folder.json: It is a directory; name a file of tasks.');
    expect(await refused('nothing.yaml')).toBe('nothing.yaml: There is no such file.');
    expect(await refused('secret.jsonl/more.jsonl')).toBe('secret.jsonl/more.jsonl: There is no such file.');
    chmodSync(join(directory, 'secret.jsonl'), 0);
    if (process.getuid?.() === 0) return; // Root may read everything.
    expect(await refused('secret.jsonl')).toBe('secret.jsonl: This user may not read it.');
  });

  it('stops being read when the signal is aborted', async () => {
    const signal = AbortSignal.abort(new Error('no longer wanted'));
    const path = join(directoryWith({ 'a.jsonl': line('a') }), 'a.jsonl');
    await expect(readTasksetFile(path, { signal })).rejects.toThrow('no longer wanted');
  });
});

describe('a taskset module', () => {
  it('is read anew, with what it imports, and gets no secret of this process', async () => {
    const directory = directoryWith({
      'tasks.mjs':
        "import { target } from './target.mjs';\nexport default () => [{ id: 'a', env: 'e', scenario: 's', args: { target, secret: process.env.PROCTOR_TEST_KEY ?? 'none' } }];",
      'target.mjs': 'export const target = 1;',
    });
    process.env.PROCTOR_TEST_KEY = 'sk-1';
    const read = async () => (await readTasksetFile(join(directory, 'tasks.mjs'))).tasks[0]?.args;
    try {
      expect(await read()).toEqual({ target: 1, secret: 'none' });
      writeFileSync(join(directory, 'target.mjs'), 'export const target = 2;');
      expect(await read()).toEqual({ target: 2, secret: 'none' });
    } finally {
      delete process.env.PROCTOR_TEST_KEY;
    }
  });

  it.each([
    ['throws', 'console.log("noise");\nthrow new Error("no data");', 'file: It fails at 2:7: no data'],
    ['is not JavaScript', 'export default [;', 'file: It fails at 1:'],
    ['rejects', 'export default async () => { throw new Error("no data"); };', 'no data'],
    ['ends the process', 'process.exit(3);', 'file: Its process exited with code 3'],
    ['exports nothing', 'export const tasks = [];', 'file: Its default export has to be a list of tasks'],
    [
      'gives something else',
      'export default () => ({ tasks: [] });',
      'has to be a list of tasks, or a function that gives',
    ],
    ['gives no tasks', 'export default [];', 'file: It has no tasks.'],
    [
      'gives a bad task',
      'export default [{ id: "a", env: "e", scenario: "s", args: { a: 1 }, tag: 1 }];',
      'file: tasks[0].tag: No task',
    ],
    ['gives what JSON cannot hold', 'export default [{ id: 1n }];', 'file: tasks[0]: It is nothing that JSON can hold'],
    ['gives a hole', 'export default [undefined];', 'file: tasks[0]: A task has to be an object, got null.'],
    [
      'gives too many',
      'export default Array(100_001).fill({});',
      'file: It has 100001 tasks; a taskset has at most 100000.',
    ],
  ])('that %s is refused in words', async (_what, content, words) => {
    const message = await messageFor('a.mjs', content);
    expect(message).toContain(words);
    expect(message).not.toContain('proctor-tasks-');
  });

  it('that waits for ever is ended when the signal is aborted', async () => {
    const directory = directoryWith();
    const begun = join(directory, 'begun');
    const text = `import { writeFileSync } from 'node:fs';
writeFileSync(${JSON.stringify(begun)}, String(process.pid));
setInterval(() => {}, 1000);
await new Promise(() => {});`;
    writeFileSync(join(directory, 'a.mjs'), text);
    const controller = new AbortController();
    const reading = readTasksetFile(join(directory, 'a.mjs'), { signal: controller.signal });
    const refused = expect(reading).rejects.toThrow('enough');
    await until(() => existsSync(begun) && readFileSync(begun, 'utf8') !== '');
    controller.abort(new Error('enough'));
    await refused;
    expect(() => process.kill(Number(readFileSync(begun, 'utf8')), 0)).toThrow('ESRCH');
  });
});
