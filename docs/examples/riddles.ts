import { EnvironmentServer, Hub, serveMain } from 'proctor';
import { z } from 'zod';

const RIDDLES = [
  { question: 'What has hands and cannot clap?', answer: 'a clock' },
  { question: 'What gets wetter the more it dries?', answer: 'a towel' },
];

/** A book of riddles for the agent, and the pages with the answers for the harness alone. */
export default function riddles() {
  const env = new EnvironmentServer({ name: 'riddles' });

  env.mount(
    new Hub('book', { audience: 'agent', description: 'Riddles to read.' })
      .tool('count', {}, () => RIDDLES.length)
      .tool('read', { args: { page: z.int().min(1).max(RIDDLES.length) } }, ({ page }) => RIDDLES[page - 1]?.question),
  );

  env.mount(
    new Hub('answers', { audience: 'harness' }).tool(
      'look_up',
      { args: { page: z.int() } },
      ({ page }) => RIDDLES[page - 1]?.answer,
    ),
  );
  env.resource('riddles://answers', { audience: 'harness' }, () => RIDDLES);

  env.scenario('solve', { args: { page: z.int().min(1).max(RIDDLES.length) } }, async function* ({ page }) {
    const answer = yield `Read page ${page} of the book and say what it is.`;
    return answer.toLowerCase().includes(RIDDLES[page - 1]?.answer ?? '?');
  });

  return env;
}

serveMain(import.meta, riddles);
