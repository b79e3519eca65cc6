import { EnvironmentServer, NoJudgeError, type ScenarioTask, serveMain, type ToolContext } from 'proctor';
import { z } from 'zod';
import { Desk } from './desk/desk.ts';
import { POLICY } from './desk/policy.ts';
import { TASKS, type TravelTask } from './desk/tasks.ts';

const code = z.string().describe('Six letters and digits, such as QA1BC2.');
const city = (which: string) => z.string().describe(`The city ${which}, such as Lund.`);
const flight = z.string().describe('Its number, such as NW800.');

/** The desk of an airline, where a passenger tells a wish in pieces. The records are graded, and a judge reads the talk. */
export default function travel(): EnvironmentServer {
  const environment = new EnvironmentServer({
    name: 'travel',
    version: '1.0.0',
    instructions: 'The desk of an airline, and passengers who change their bookings.',
    sessionsPerProcess: 50,
  });
  let desk = new Desk();
  const readOnly = { annotations: { readOnlyHint: true } };
  environment.tool(
    'find_booking',
    {
      description: 'Finds a booking.',
      args: { code, last_name: z.string().describe('Last name of the passenger.') },
      ...readOnly,
    },
    ({ code: given, last_name }) => ({ ...desk.find(given, last_name) }),
  );
  environment.tool(
    'list_flights',
    {
      description: 'Flights from one city to another.',
      args: { from: city('of departure'), to: city('of arrival') },
      ...readOnly,
    },
    ({ from, to }) => ({ flights: desk.flights(from, to).map((flight) => ({ ...flight })) }),
  );
  environment.tool(
    'change_flight',
    { description: 'Moves a booking to another flight.', args: { code, flight } },
    ({ code: given, flight: to }) => ({ ...desk.change(given, to) }),
  );
  environment.tool('cancel_booking', { description: 'Cancels a booking.', args: { code } }, ({ code: given }) => ({
    ...desk.cancel(given),
  }));
  environment.tool('add_bag', { description: 'Adds a bag to a booking.', args: { code } }, ({ code: given }) => ({
    ...desk.addBag(given),
  }));
  environment.scenario(
    'passenger',
    {
      description: "Settle a passenger's wish by the rules of the desk.",
      args: {
        task: z.enum(TASKS.map(({ id }) => id)).describe('Which of the passengers.'),
        user_script: z.array(z.string()).optional().describe('Lines of the passenger, for proctor/user-script.'),
        judge_script: z.array(z.boolean()).optional().describe('Verdicts, for proctor/judge-script.'),
      },
      system: POLICY,
      user: { instructions: ({ task }) => taskOf(task).user, maxTurns: 12 },
      tasks: TASKS.map(toScenarioTask),
      solution: ({ task }) => ({ calls: taskOf(task).calls, answer: taskOf(task).answer }),
    },
    async function* ({ task }, context) {
      desk = new Desk();
      yield [];
      return await grade(taskOf(task), desk, context);
    },
  );
  return environment;
}

/** Right records and a talk by the rules: both are needed. Without a judge the records decide, and the report says so. */
async function grade(task: TravelTask, desk: Desk, { judge, conversation }: ToolContext) {
  const expected = new Desk();
  for (const { name, arguments: args } of task.calls) play(expected, name, args);
  // Refusing without a look at the booking is no service, though it leaves the records as they should be.
  const hasLooked = task.calls.every(({ arguments: args }) => args.code === undefined || desk.found.has(args.code));
  const records = hasLooked && desk.state() === expected.state() ? 1 : 0;
  const material = conversation.map(({ role, content }) => ({
    from: role === 'user' ? 'passenger' : 'agent',
    content,
  }));
  const verdicts: { rule: string; score: number; reasons: readonly string[] }[] = [];
  try {
    for (const rule of task.rubric) {
      const rubric = `The material is a talk between a passenger and an agent. Is this true of it? ${rule}`;
      const { score, reasons } = await judge({ rubric, material });
      verdicts.push({ rule, score, reasons });
    }
  } catch (error) {
    if (!(error instanceof NoJudgeError)) throw error;
    const content = 'Only the records were graded: no model judges the talk. Set models.judge.';
    return { reward: records, content, info: { not_judged: [...task.rubric] } };
  }
  const talk = verdicts.every(({ score }) => score >= 0.5) ? 1 : 0;
  return {
    reward: records * talk,
    info: { records, talk, verdicts: verdicts.map((verdict) => ({ ...verdict, reasons: [...verdict.reasons] })) },
  };
}

function play(desk: Desk, name: string, args: Readonly<Record<string, string>>): void {
  const { code: given = '', flight = '' } = args;
  if (name === 'change_flight') desk.change(given, flight);
  if (name === 'cancel_booking') desk.cancel(given);
  if (name === 'add_bag') desk.addBag(given);
}

function taskOf(id: string): TravelTask {
  const task = TASKS.find((each) => each.id === id);
  if (task === undefined) throw new Error(`There is no task ${id}`);
  return task;
}

function toScenarioTask({ id, split, script, rubric }: TravelTask) {
  return {
    id,
    split,
    args: { task: id, user_script: [...script], judge_script: rubric.map(() => true) },
  } satisfies ScenarioTask<z.ZodType<{ task: string; user_script?: string[]; judge_script?: boolean[] }>>;
}

serveMain(import.meta, travel);
