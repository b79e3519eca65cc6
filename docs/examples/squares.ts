import { defineTasks } from 'proctor';

export default defineTasks(() =>
  [2, 3, 4, 5].map((root) => ({
    id: `square-of-${root}`,
    env: 'counter',
    scenario: 'count_to',
    args: { target: root ** 2 },
    split: root < 5 ? 'train' : 'test',
  })),
);
