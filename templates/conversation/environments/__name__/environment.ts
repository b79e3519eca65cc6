import { EnvironmentServer, serveMain, ToolError } from 'proctor';
import { z } from 'zod';
import { CASES, type CaseName, createParcels } from './parcels.ts';

/** A desk that people write to. Each of them is a simulated user: a model with instructions, which no agent can read. */
export default function environment() {
  const env = new EnvironmentServer({ name: '__name__', version: '0.1.0', sessionsPerProcess: 100 });
  let parcels = createParcels();
  let looked = new Set<string>();
  /** How often a parcel was sent elsewhere: drivers are told each time. */
  let sent = 0;

  const find = (number: string) => {
    const parcel = parcels.find((each) => each.number === number);
    // The agent reads a ToolError as it is.
    if (parcel === undefined) throw new ToolError(`There is no parcel "${number}". Numbers are such as P204.`);
    return parcel;
  };

  env.tool(
    'find_parcel',
    {
      description: 'Finds a parcel.',
      args: { number: z.string().describe('Such as P204.') },
      annotations: { readOnlyHint: true },
    },
    ({ number }) => {
      const parcel = find(number);
      looked.add(number);
      return { ...parcel };
    },
  );

  env.tool(
    'send_elsewhere',
    {
      description: 'Sends a parcel to another address.',
      args: { number: z.string().describe('Such as P204.'), to: z.string().describe('The new address.') },
    },
    ({ number, to }) => {
      const parcel = find(number);
      if (parcel.state === 'out') throw new ToolError(`${number} is out for delivery, and cannot be sent elsewhere.`);
      sent += 1;
      parcels = parcels.map((each) => (each.number === number ? { ...each, to } : each));
      return `${number} goes to ${to}.`;
    },
  );

  env.scenario(
    'help',
    {
      description: 'Help somebody who waits for a parcel.',
      args: {
        who: z
          .enum(Object.keys(CASES) as CaseName[])
          .default('new-address')
          .describe('Whose parcel it is.'),
        // Lines of the person, one a turn: the scenario can be played without a model for its user.
        user_script: z.array(z.string()).optional().describe('Lines of the person, for proctor/user-script.'),
      },
      system:
        'You help people who wait for a parcel. Find it before you say anything about it. Change nothing that nobody has asked for, and nothing twice.',
      // A model plays it: --user-model, or models.user of proctor.config.ts.
      user: { instructions: ({ who }) => CASES[who].user, maxTurns: 10 },
      // A task has lines of its own, so that an evaluation needs no model for the user either.
      tasks: (Object.keys(CASES) as CaseName[]).map((who) => ({
        id: who,
        args: { who },
        user_script: CASES[who].script,
        split: who === 'too-late' ? ('test' as const) : ('train' as const),
      })),
      solution: ({ who }) => {
        const { number, to } = CASES[who];
        const look = { name: 'find_parcel', arguments: { number } };
        if (to === undefined) return { calls: [look], answer: 'It is out for delivery, and comes to Hill Road 12.' };
        return { calls: [look, { name: 'send_elsewhere', arguments: { number, to } }], answer: `It goes to ${to}.` };
      },
    },
    async function* ({ who }, { conversation }) {
      parcels = createParcels();
      looked = new Set();
      sent = 0;
      yield []; // The person writes first.
      const { number, to } = CASES[who];
      const isRight = createParcels().every(
        (parcel) => find(parcel.number).to === (parcel.number === number ? (to ?? parcel.to) : parcel.to),
      );
      // Doing nothing is no help, though it leaves every parcel as it should be.
      const isOnce = sent === (to === undefined ? 0 : 1);
      return { reward: isRight && isOnce && looked.has(number) ? 1 : 0, info: { texts: conversation.length } };
    },
  );

  return env;
}

serveMain(import.meta, environment);
