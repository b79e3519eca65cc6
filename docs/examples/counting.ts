import { defineTasks } from 'proctor';

export default defineTasks([
  { id: 'three', env: 'counter', scenario: 'count_to', args: { target: 3 }, split: 'test', tags: ['small'] },
  { id: 'seven', env: 'counter', scenario: 'count_to', args: { target: 7 }, cluster: 'primes', max_steps: 20 },
]);
