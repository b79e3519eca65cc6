import { defineTasks } from 'proctor';

export default defineTasks(
  Array.from({ length: 100 }, (_, index) => ({
    id: `count-${index + 1}`,
    env: 'counter',
    scenario: 'count_to',
    args: { target: index + 1 },
    tags: [index < 50 ? 'small' : 'large'],
  })),
);
