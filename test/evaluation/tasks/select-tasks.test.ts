import { describe, expect, it } from 'vitest';
import { parseOnly, selectTasks } from '../../../src/evaluation/tasks/select-tasks.ts';
import { task } from './files.ts';

const TASKS = Array.from({ length: 40 }, (_, index) =>
  task(`t${String(index).padStart(2, '0')}`, { tags: index % 2 === 0 ? ['even'] : ['odd'] }),
);

function select(...only: string[]): readonly string[] {
  return selectTasks(TASKS, only.map(parseOnly)).map(({ id }) => id);
}

describe('--only', () => {
  it.each(['failed', 'errored'] as const)('%s is left to its caller', (kind) => {
    expect(parseOnly(kind)).toEqual({ kind });
    expect(select(kind)).toHaveLength(40);
  });

  it('takes tasks with a tag, by their ids, and the first ones', () => {
    expect(select('tag=odd')).toHaveLength(20);
    expect(select('ids=t07,t02')).toEqual(['t02', 't07']);
    expect(select('first=3')).toEqual(['t00', 't01', 't02']);
  });

  it('takes those for which all of it holds, whatever the order', () => {
    expect(select('first=2', 'tag=odd')).toEqual(['t01', 't03']);
    expect(select('tag=odd', 'first=2')).toEqual(['t01', 't03']);
    expect(select('tag=odd', 'ids=t02,t03')).toEqual(['t03']);
  });

  it('samples by the ids: the order of the tasks changes nothing, and another seed does', () => {
    const sampled = select('sample=5:7');
    expect(sampled).toHaveLength(5);
    expect([...sampled].sort()).toEqual(sampled);
    const reversed = selectTasks([...TASKS].reverse(), [parseOnly('sample=5:7')]).map(({ id }) => id);
    expect(reversed.sort()).toEqual(sampled);
    expect(select('sample=5:8')).not.toEqual(sampled);
    expect(select('sample=5:a seed')).toHaveLength(5);
  });

  it('keeps most of a sample when tasks are added', () => {
    const more = [...TASKS, ...Array.from({ length: 4 }, (_, index) => task(`new${index}`))];
    const kept = selectTasks(more, [parseOnly('sample=10:7')]).filter(({ id }) => select('sample=10:7').includes(id));
    expect(kept.length).toBeGreaterThanOrEqual(6);
  });

  it('cuts into shards that are all of it and have nothing in common', () => {
    const shards = [1, 2, 3].map((index) => select(`shard=${index}/3`));
    expect(shards.flat().sort()).toEqual(TASKS.map(({ id }) => id));
    expect(shards.every((shard) => shard.length >= 5)).toBe(true);
  });

  it('knows the shard of an id by SHA-256, from 1', () => {
    // The first six bytes of the hash, big-endian, modulo the number of shards.
    const shardOf = (id: string, count: number) =>
      Array.from({ length: count }, (_, index) => index + 1).filter((index) => {
        try {
          return selectTasks([task(id)], [parseOnly(`shard=${index}/${count}`)]).length === 1;
        } catch {
          return false;
        }
      });
    expect([2, 3, 7].map((count) => shardOf('task-1', count))).toEqual([[2], [2], [2]]);
    expect([2, 3, 7].map((count) => shardOf('é', count))).toEqual([[2], [2], [5]]);
  });

  it.each([
    ...['', 'all', 'tag=', 'ids=', 'ids=,', 'first=0', 'first=-1', 'first=1.5', 'first=x', 'first=3/4'],
    ...[
      'sample=3',
      'sample=3:',
      'sample=0:7',
      'shard=0/3',
      'shard=4/3',
      'shard=1/0',
      'shard=1:3',
      'shard=1/200000',
      'size=3',
    ],
  ])('refuses "%s" and names the forms', (text) => {
    expect(() => parseOnly(text)).toThrow('give failed, errored, tag=<tag>, ids=<id>,<id>, first=<N>');
  });

  it('refuses ids that no task has, by name', () => {
    expect(() => select('ids=t01,nothing,never')).toThrow('No task has the id "nothing", "never".');
  });

  it('refuses to select nothing, and says which tags there are', () => {
    expect(() => select('tag=prime')).toThrow('No task of 40 is left; ask for less at once. Tags are "even", "odd".');
  });
});
