import type { HiddenTest, Json } from '../grading/hidden-test.ts';
import type { CodingTask } from './coding-task.ts';

const README = `# intervals

An interval is \`[start, end]\`, two numbers with start <= end, both ends included.

- \`merge(intervals)\` gives the intervals in the order of their starts, with those that overlap or touch made one.
  \`[1, 3]\` and \`[3, 5]\` touch and give \`[1, 5]\`; \`[1, 3]\` and \`[4, 5]\` do not.
- \`gaps(intervals)\` gives the intervals that lie between the merged ones: of \`[1, 3]\` and \`[6, 8]\` that is \`[3, 6]\`.

Neither changes what it is given.
`;

const BROKEN = `/** @param {[number, number][]} intervals */
export function merge(intervals) {
  const merged = [];
  for (const interval of intervals.sort()) {
    const last = merged.at(-1);
    if (last !== undefined && interval[0] < last[1]) last[1] = interval[1];
    else merged.push(interval);
  }
  return merged;
}

/** @param {[number, number][]} intervals */
export function gaps(intervals) {
  const merged = merge(intervals);
  return merged.slice(1).map(([start], index) => [merged[index][1], start]);
}
`;

const LOOP = `  for (const interval of intervals.sort()) {
    const last = merged.at(-1);
    if (last !== undefined && interval[0] < last[1]) last[1] = interval[1];
    else merged.push(interval);
  }`;

const MENDED_LOOP = `  const ordered = intervals.map(([start, end]) => [start, end]).sort((one, other) => one[0] - other[0]);
  for (const interval of ordered) {
    const last = merged.at(-1);
    if (last !== undefined && interval[0] <= last[1]) last[1] = Math.max(last[1], interval[1]);
    else merged.push(interval);
  }`;

const VISIBLE = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gaps, merge } from '../src/intervals.js';

test('merges intervals that overlap', () => {
  assert.deepEqual(merge([[1, 3], [2, 5]]), [[1, 5]]);
});

test('sorts by number', () => {
  assert.deepEqual(merge([[10, 11], [9, 9.5]]), [[9, 9.5], [10, 11]]);
});

test('gives the gaps', () => {
  assert.deepEqual(gaps([[1, 3], [6, 8]]), [[3, 6]]);
});
`;

function merges(name: string, intervals: Json, gives: Json): HiddenTest {
  return { name, steps: [{ call: 'merge', args: [intervals], gives }] };
}

/** A bug that is four: the order, touching intervals, intervals inside others, and what becomes of the argument. */
export const intervals: CodingTask = {
  id: 'intervals',
  request:
    'The module src/intervals.js does not do what README.md says: the results of merge and of gaps are wrong for some intervals. Find out why and mend it.',
  files: {
    'package.json': '{ "name": "intervals", "type": "module", "private": true }\n',
    'README.md': README,
    'src/intervals.js': BROKEN,
  },
  visibleTests: { 'test/intervals.test.js': VISIBLE },
  module: 'src/intervals.js',
  hiddenTests: [
    merges(
      'orders by number and not by text',
      [
        [20, 21],
        [3, 4],
        [100, 101],
      ],
      [
        [3, 4],
        [20, 21],
        [100, 101],
      ],
    ),
    merges(
      'orders negative numbers',
      [
        [-1, 0],
        [-20, -10],
      ],
      [
        [-20, -10],
        [-1, 0],
      ],
    ),
    merges(
      'joins intervals that touch',
      [
        [1, 3],
        [3, 5],
      ],
      [[1, 5]],
    ),
    merges(
      'keeps the longer end of an interval within another',
      [
        [1, 10],
        [2, 3],
        [4, 12],
      ],
      [[1, 12]],
    ),
    merges(
      'joins a point with what it touches',
      [
        [4, 4],
        [2, 4],
      ],
      [[2, 4]],
    ),
    {
      name: 'leaves its argument as it was',
      steps: [
        {
          call: 'merge',
          args: [
            [
              [5, 6],
              [1, 3],
              [2, 4],
            ],
          ],
          gives: [
            [1, 4],
            [5, 6],
          ],
        },
      ],
    },
    {
      name: 'gives no gap where intervals touch',
      steps: [
        {
          call: 'gaps',
          args: [
            [
              [1, 2],
              [2, 4],
              [6, 7],
            ],
          ],
          gives: [[4, 6]],
        },
      ],
    },
    {
      name: 'gives gaps in the order of numbers',
      steps: [
        {
          call: 'gaps',
          args: [
            [
              [8, 9],
              [30, 40],
              [100, 101],
            ],
          ],
          gives: [
            [9, 30],
            [40, 100],
          ],
        },
      ],
    },
    { ...merges('gives nothing for nothing', [], []), isGuard: true },
    {
      ...merges(
        'keeps intervals apart that do not touch',
        [
          [1, 3],
          [4, 5],
        ],
        [
          [1, 3],
          [4, 5],
        ],
      ),
      isGuard: true,
    },
    {
      name: 'gives the gap between two intervals',
      steps: [
        {
          call: 'gaps',
          args: [
            [
              [1, 3],
              [6, 8],
            ],
          ],
          gives: [[3, 6]],
        },
      ],
      isGuard: true,
    },
  ],
  solution: [
    { name: 'read_file', arguments: { path: 'src/intervals.js' } },
    { name: 'edit_file', arguments: { path: 'src/intervals.js', old_text: LOOP, new_text: MENDED_LOOP } },
    { name: 'run_command', arguments: { command: 'node --test' } },
  ],
};
