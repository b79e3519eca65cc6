import { EnvironmentServer, serveMain, ToolError } from 'proctor';
import { z } from 'zod';
import { createRooms, isFree, type Room, smallestFree } from './rooms.ts';

const hour = (which: string) => z.int().min(8).max(18).describe(`The full hour ${which}.`);

/** The environment and the handles of its scenarios, which type what a test writes. */
export function createBooking() {
  // All that a session changes is in variables of this function, so that a hundred sessions can share a process.
  const env = new EnvironmentServer({ name: '__name__', version: '0.1.0', sessionsPerProcess: 100 });
  let rooms: Room[] = createRooms();

  env.resource('rooms://rules', { description: 'How rooms are booked.', mimeType: 'text/plain' }, () =>
    ['Take the smallest room that has enough seats.', 'Never book for longer than was asked for.'].join('\n'),
  );

  env.tool(
    'list_rooms',
    { description: 'Lists the rooms, their seats and their bookings.', annotations: { readOnlyHint: true } },
    () => ({ rooms }),
  );

  env.tool(
    'book',
    {
      description: 'Books a room from one full hour to another.',
      args: {
        room: z.string().describe('Its name.'),
        from: hour('of its start'),
        to: hour('of its end'),
        by: z.string().describe('For whom.'),
      },
    },
    ({ room: name, from, to, by }) => {
      const room = rooms.find((each) => each.name === name);
      // The agent reads a ToolError as it is. Of any other error it learns only that the tool failed.
      if (room === undefined) throw new ToolError(`There is no room "${name}". list_rooms says which there are.`);
      if (to <= from) throw new ToolError(`A booking from ${from} to ${to} has no length.`);
      if (!isFree(room, from, to)) throw new ToolError(`${name} is taken between ${from} and ${to}.`);
      room.bookings.push({ from, to, by });
      return `${name} is booked for ${by} from ${from} to ${to}.`;
    },
  );

  const meeting = env.scenario(
    'meeting',
    {
      description: 'Find and book a room for a meeting.',
      args: {
        people: z.int().min(1).max(40).default(6).describe('How many.'),
        from: hour('of its start').default(9),
        to: hour('of its end').default(11),
      },
      system:
        'You book rooms. The rules: take the smallest room that has enough seats, for the hours that were asked for.',
      // The answer is JSON of this schema. One that does not fit is asked for once more, and is worth 0 then.
      answer: z.object({ room: z.string() }),
      // What an evaluation plays: npx proctor eval __name__. Agents cannot see it.
      tasks: [
        { id: 'usual', split: 'train' },
        { id: 'small', args: { people: 2, from: 14, to: 15 }, split: 'train', cluster: 'afternoon' },
        { id: 'three-at-noon', args: { people: 3, from: 12, to: 14 }, split: 'test', cluster: 'afternoon' },
        { id: 'whole-day', args: { people: 4, from: 8, to: 18 }, split: 'test', tags: ['long'] },
      ],
      // A generator, since the call depends on what another one gave.
      async *solution({ people, from, to }) {
        const listed = yield { name: 'list_rooms', arguments: {} };
        const { rooms: known } = listed.structured_content as { rooms: Room[] };
        const room = smallestFree(known, people, from, to)?.name ?? '';
        yield { name: 'book', arguments: { room, from, to, by: 'Ada' } };
        return { room };
      },
    },
    async function* ({ people, from, to }) {
      rooms = createRooms();
      const best = smallestFree(rooms, people, from, to);
      if (best === undefined) throw new Error(`No room is free for ${people} people from ${from} to ${to}`);
      const answer =
        yield `Book a room for Ada: a meeting of ${people} people from ${from} to ${to}. Answer with the name of the room.`;
      const booked = rooms.flatMap((room) =>
        room.bookings.filter(({ by }) => by === 'Ada').map((booking) => ({ room: room.name, ...booking })),
      );
      const [first] = booked;
      const isBooked = booked.length === 1 && first?.room === best.name && first.from === from && first.to === to;
      return {
        subscores: [
          { name: 'booked the right room', value: isBooked ? 1 : 0, weight: 3 },
          { name: 'said which', value: isBooked && answer.room === best.name ? 1 : 0 },
        ],
        info: { booked, best: best.name },
      };
    },
  );

  return { env, meeting };
}

/** Called once for each session: the rooms belong to one agent alone. */
export default function environment() {
  return createBooking().env;
}

serveMain(import.meta, environment);
