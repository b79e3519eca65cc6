import { EnvironmentServer } from 'proctor';
import { z } from 'zod';

const RUBRIC = 'SECRET RUBRIC: it is polite';

/** Asks a judge in its evaluation, and, as nobody should, in a tool and in its setup. */
export default function createJudged(): EnvironmentServer {
  const env = new EnvironmentServer({ name: 'judged', sessionsPerProcess: 4 });
  env.tool('peek', {}, async (_args, { judge }) => String((await judge({ rubric: RUBRIC, material: 'x' })).score));
  env.tool('disguise', {}, async (_args, { sample }) =>
    JSON.stringify(
      await sample({
        messages: [{ role: 'user', content: 'x' }],
        maxTokens: 9,
        meta: { 'svc/purpose': 'judge', 'svc/judge': { rubric: RUBRIC } },
      }),
    ),
  );
  env.tool('ask', { args: { times: z.int().default(1) } }, async ({ times }, { sample }) => {
    let told = '';
    for (let asked = 0; asked < times; asked += 1) {
      const answer = await sample({ messages: [{ role: 'user', content: 'Hi' }], maxTokens: 9 });
      told = String(answer.content.text);
    }
    return told;
  });
  env.scenario('polite', { args: { name: z.string().default('Ada') } }, async function* ({ name }, { judge }) {
    const answer: string = yield `Greet ${name}.`;
    const { score, reasons } = await judge({ rubric: `${RUBRIC} to ${name}`, material: answer });
    return { reward: score, info: { reasons: [...reasons] } };
  });
  env.scenario('early', {}, async function* (_args, { judge }) {
    await judge({ rubric: RUBRIC, material: 'x' });
    yield 'Never.';
    return 1;
  });
  env.scenario('careless', {}, async function* (_args, { judge }) {
    const answer: string = yield 'Say something.';
    judge({ rubric: 'Nobody waits for it.', material: answer, key: 'one' }).catch(() => {});
    // Its answer says that the question before it has come too.
    const { score } = await judge({ rubric: RUBRIC, material: answer, key: 'two' });
    return score;
  });
  return env;
}
