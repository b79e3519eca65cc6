import { EnvironmentServer, serveMain } from 'proctor';
import { z } from 'zod';

/** Called once for each session: the variables in here belong to one agent alone. */
export default function environment() {
  const notes: string[] = [];
  const env = new EnvironmentServer({ name: '__name__', version: '0.1.0' });

  // What the agent can do.
  env.tool(
    'write_note',
    { description: 'Writes down a note.', args: { text: z.string().describe('What the note says.') } },
    ({ text }) => {
      notes.push(text);
      return `There are ${notes.length} notes.`;
    },
  );

  // What it is asked to do, and how that is graded.
  env.scenario(
    'remember',
    {
      description: 'Write down one sentence.',
      args: { sentence: z.string().describe('What has to be written down.') },
      // A solution with a reward of 1. The model proctor/oracle plays it; no agent can read it.
      solution: ({ sentence }) => ({
        calls: [{ name: 'write_note', arguments: { text: sentence } }],
        answer: 'I wrote it down.',
      }),
    },
    async function* ({ sentence }) {
      notes.length = 0;
      // The agent gets this prompt and acts; what comes back here is its answer.
      const answer = yield `Write down exactly this sentence, then say that you are done: ${sentence}`;
      const isWritten = notes.length === 1 && notes[0] === sentence;
      return { reward: isWritten ? 1 : 0, info: { notes, answer } };
    },
  );

  return env;
}

serveMain(import.meta, environment);
