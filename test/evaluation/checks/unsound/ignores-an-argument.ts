import { EnvironmentServer } from 'proctor';
import { z } from 'zod';

const TASKS = [
  { id: 'ada', args: { who: 'Ada Lovelace', date: '2026-03-01' } },
  { id: 'grace', args: { who: 'Grace Hopper', date: '2026-04-05' } },
];

/** Rooms are booked for a day: neither the grader nor its info looks at which. */
export default () => {
  const env = new EnvironmentServer({ name: 'rooms', sessionsPerProcess: 10 });
  let guests: string[] = [];
  const args = { who: z.string().describe('The name of the guest.'), date: z.string().describe('Such as 2026-03-01.') };
  env.tool('book', { description: 'Books a room.', args }, ({ who }) => {
    guests.push(who);
    return 'It is booked.';
  });
  const solution = ({ who, date }: { who: string; date: string }) => ({
    calls: [{ name: 'book', arguments: { who, date } }],
    answer: 'Done.',
  });
  env.scenario('book', { description: 'Book a room.', args, tasks: TASKS, solution }, async function* ({ who, date }) {
    guests = [];
    yield `Book a room for ${who} on ${date}.`;
    return { reward: guests.length === 1 && guests[0] === who ? 1 : 0, info: { guests } };
  });
  return env;
};
