import { describe, expect, it } from 'vitest';
import { GroupCommit } from '../../../src/store/database/group-commit.ts';

/** Doubles numbers; what `fails` names is refused by itself, what `breaks` names fails its whole group. */
function doubling({ fails = [], breaks = [] }: { fails?: readonly number[]; breaks?: readonly number[] } = {}) {
  const groups: (readonly number[])[] = [];
  const commit = new GroupCommit<number, number>(async (requests) => {
    groups.push(requests);
    const broken = requests.find((each) => breaks.includes(each));
    if (broken !== undefined) throw new Error(`${broken} broke it`);
    return requests.map((each) => (fails.includes(each) ? new Error(`${each} is refused`) : each * 2));
  });
  return { commit, groups };
}

describe('a group commit', () => {
  it('commits together what was submitted in one turn of the event loop', async () => {
    const { commit, groups } = doubling();
    const first = await Promise.all([1, 2, 3].map((each) => commit.submit(each)));
    const second = await commit.submit(4);
    expect([first, second, groups]).toEqual([[2, 4, 6], 8, [[1, 2, 3], [4]]]);
  });

  it('makes the next group of what arrives while one is committed', async () => {
    let release = () => {};
    const groups: (readonly number[])[] = [];
    const commit = new GroupCommit<number, number>(async (requests) => {
      groups.push(requests);
      if (groups.length === 1) await new Promise<void>((resolve) => (release = resolve));
      return requests;
    });
    const first = commit.submit(1);
    await new Promise(setImmediate);
    const others = [commit.submit(2), commit.submit(3)];
    release();
    expect(await Promise.all([first, ...others])).toEqual([1, 2, 3]);
    expect(groups).toEqual([[1], [2, 3]]);
  });

  it('rejects what is refused by itself, and nothing beside it', async () => {
    const { commit, groups } = doubling({ fails: [2] });
    const results = await Promise.allSettled([1, 2, 3].map((each) => commit.submit(each)));
    expect(results).toMatchObject([{ value: 2 }, { reason: { message: '2 is refused' } }, { value: 6 }]);
    expect(groups).toHaveLength(1);
  });

  it('tries each request once more by itself when the group fails, in order', async () => {
    const { commit, groups } = doubling({ breaks: [2] });
    const results = await Promise.allSettled([1, 2, 3].map((each) => commit.submit(each)));
    expect(results).toMatchObject([{ value: 2 }, { reason: { message: '2 broke it' } }, { value: 6 }]);
    expect(groups).toEqual([[1, 2, 3], [1], [2], [3]]);
  });

  it('goes on after a failure', async () => {
    const { commit } = doubling({ breaks: [1] });
    await expect(commit.submit(1)).rejects.toThrow('1 broke it');
    expect(await commit.submit(2)).toBe(4);
  });

  it('bounds a group', async () => {
    const { commit, groups } = doubling();
    await Promise.all(Array.from({ length: 2_500 }, (_, index) => commit.submit(index)));
    expect(groups.map(({ length }) => length)).toEqual([1_000, 1_000, 500]);
  });
});
