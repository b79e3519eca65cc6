import { describe, expect, it } from 'vitest';
import { readTaskList } from '../../../src/evaluation/tasks/read-task-list.ts';
import { compareIds, createTaskset, hashTaskContent, toCanonicalLine } from '../../../src/evaluation/tasks/taskset.ts';
import { task } from './files.ts';

/** The hashes of this file were computed by another program, of lines that were written by hand. */
const GIVEN = [
  { id: '\u{1f600}', env: 'e', scenario: 's' },
  {
    ...{ timeout_seconds: 60, id: 'é', env: 'counter', scenario: 'count_to', args: { z: 'é', a: [1.5, true, null] } },
    ...{ split: 'test', tags: ['x', 'a'], cluster: 'pair', held_out: true, max_steps: 7 },
  },
  { id: '\uff61', env: 'e', scenario: 's' },
  { id: 'b', env: 'counter', scenario: 'count_to', args: { target: 3 } },
];
const VERSION = 'f83ddb0747f51fdc82466ae25d01b86ab8a9e6b79e174823218249a97c0d78ea';

describe('the version of a taskset', () => {
  it('is the SHA-256 of the canonical lines of its tasks', () => {
    const { version, tasks } = readTaskList('mine', GIVEN);
    expect(toCanonicalLine(tasks[0] ?? task('none'))).toBe(
      '{"args":{"target":3},"cluster":"b","env":"counter","held_out":false,"id":"b","scenario":"count_to","split":null,"tags":[]}',
    );
    expect(version).toBe(VERSION);
  });

  it('has the tasks in the order of the code points of their ids, which is not that of UTF-16', () => {
    expect(readTaskList(null, GIVEN).tasks.map(({ id }) => id)).toEqual(['b', 'é', '\uff61', '\u{1f600}']);
    expect(compareIds('a', 'ab')).toBeLessThan(0);
    expect(compareIds('a\u{10000}', 'a\u{10001}')).toBeLessThan(0);
    expect(compareIds('\ue000', '\u{10000}')).toBeLessThan(0);
    expect(compareIds('same', 'same')).toBe(0);
  });

  it('does not depend on the order of the tasks, of their fields, or on defaults that are written out', () => {
    const written = { args: {}, scenario: 's', env: 'e', tags: [], split: null, cluster: '\uff61', held_out: false };
    const others = [...GIVEN].reverse().map((each) => (each.id === '\uff61' ? { ...written, id: each.id } : each));
    expect(readTaskList('other', others).version).toBe(VERSION);
  });

  it.each([
    ['an argument', { args: { target: 4 } }],
    ['a limit', { max_steps: 8 }],
    ['a tag', { tags: ['x'] }],
    ['the cluster', { cluster: 'c' }],
  ])('is another one with %s', (_what, others) => {
    expect(createTaskset(null, [task('a', others)]).version).not.toBe(createTaskset(null, [task('a')]).version);
  });
});

describe('the content of a task', () => {
  it('is the hash of environment, scenario and arguments alone', () => {
    expect(hashTaskContent(task('a'))).toBe('a488fdc625d6b891e2574b695b18bc2a5c404541867c4049a6cbf60556e522ee');
    expect(hashTaskContent(task('b', { tags: ['x'], split: 'test', max_steps: 3 }))).toBe(hashTaskContent(task('a')));
    expect(hashTaskContent(task('a', { args: { target: 4 } }))).not.toBe(hashTaskContent(task('a')));
  });
});

describe('tasks of a request', () => {
  it('may have fields that a task does not have, and null for what may be absent', () => {
    const given = { id: 'a', env: 'e', scenario: 's', expected: 7, max_steps: null, cluster: null, args: null };
    expect(readTaskList(null, [given]).tasks).toEqual([task('a', { env: 'e', scenario: 's', args: {} })]);
  });

  it.each([
    ['no object', 7, 'tasks[1]', 'A task has to be an object, got 7.'],
    ['an id that is missing', { env: 'e', scenario: 's' }, 'tasks[1].id', 'It is missing; it has to be a text'],
    ['an id that is empty', { id: '', env: 'e', scenario: 's' }, 'tasks[1].id', 'a text of 1 to 200 characters'],
    ['an id with a line end', { id: 'a\n', env: 'e', scenario: 's' }, 'tasks[1].id', 'without control characters'],
    ['an id that is too long', { id: 'x'.repeat(201), env: 'e', scenario: 's' }, 'tasks[1].id', '1 to 200 characters'],
    ['half of a pair', { id: 'b', env: 'e', scenario: 's', args: { a: '\ud800' } }, 'tasks[1].args', 'surrogate pair'],
    ['a tag that is none', { id: 'b', env: 'e', scenario: 's', tags: ['x', 7] }, 'tasks[1].tags.1', 'got 7'],
    [
      'an unknown split',
      { id: 'b', env: 'e', scenario: 's', split: 'dev' },
      'tasks[1].split',
      '"train", "validation" or',
    ],
    [
      'a limit beyond the range',
      { id: 'b', env: 'e', scenario: 's', max_steps: 501 },
      'tasks[1].max_steps',
      '1 to 500',
    ],
    ['a list as arguments', { id: 'b', env: 'e', scenario: 's', args: [1] }, 'tasks[1].args', 'an object of arguments'],
    ['an id that is there', { id: 'a', env: 'e', scenario: 's' }, 'tasks[1].id', '"a" is the id of tasks[0] too'],
  ])('with %s are refused by index', (_what, given, param, words) => {
    const read = () => readTaskList(null, [{ id: 'a', env: 'e', scenario: 's' }, given]);
    expect(read).toThrow(expect.objectContaining({ code: 'invalid_parameter', param, status: 400 }));
    expect(read).toThrow(`${param}: `);
    expect(read).toThrow(words);
  });

  it('are refused where JSON cannot hold them, by the place', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(200)}1${'}'.repeat(200)}`);
    const read = (args: unknown) => () => readTaskList(null, [{ id: 'a', env: 'e', scenario: 's', args }]);
    expect(read({ list: [1, Number.POSITIVE_INFINITY] })).toThrow('tasks[0].args.list.1: It has to be a number that');
    expect(read(JSON.parse('{"a":{"__proto__":1}}'))).toThrow(
      'tasks[0].args.a.__proto__: It has to be called otherwise',
    );
    expect(read(deep)).toThrow('tasks[0]: It is nested more than 128 deep.');
  });

  it('are refused where there are none, and where there are more than 100,000', { timeout: 120_000 }, () => {
    expect(() => readTaskList(null, [])).toThrow('It has no tasks.');
    const many = Array.from({ length: 100_001 }, (_, index) => ({ id: `t${index}`, env: 'e', scenario: 's' }));
    expect(() => readTaskList(null, many)).toThrow('tasks[100000]: A taskset has at most 100000 tasks');
  });
});
