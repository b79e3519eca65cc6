import { EnvironmentServer } from 'proctor';
import { z } from 'zod';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { delta, startGateway, stream, usageChunk } from '../../gateway.ts';

/** A scenario that is a conversation, and whose evaluation asks a judge. */
export const TEA_ROOM: EnvironmentTarget = inMemory(() => {
  const env = new EnvironmentServer({ name: 'tea', version: '1.0.0' });
  env.scenario(
    'serve',
    { args: z.object({ guest: z.number().default(0) }), user: { instructions: 'You want tea.' }, judge: true },
    async function* (_args, ctx) {
      const answer: unknown = yield 'Hello.';
      const { score } = await ctx.judge({ rubric: 'It is polite.', material: String(answer), votes: 3 });
      return score;
    },
  );
  return env;
});

const USAGE = { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 };

const SAYS: Readonly<Record<string, readonly string[]>> = {
  agent: ['Which tea?', 'Here you are.'],
  guest: ['Tea, please.', 'Green. ###STOP###'],
  critic: ['{"score": true, "reason": "It is."}'],
};

/** A gateway that answers as the model that is asked: `agent`, `guest` or `critic`. Others have no text. */
export async function teaGateway() {
  const gateway = await startGateway((response, request) => {
    const { body } = request;
    const lines = SAYS[String(body.model)] ?? [''];
    // One of the messages is what the harness begins with.
    const said = (body.messages as { role: string }[]).filter(({ role }) => role === 'assistant').length;
    const first = body.model === 'guest' ? 1 : 0;
    const content = lines[Math.min(Math.max(0, said - first), lines.length - 1)];
    return stream(delta({ role: 'assistant', content }), delta({}, 'stop'), usageChunk(USAGE))(response);
  });
  return { url: gateway.url, asked: () => gateway.requests.map(({ body }) => String(body.model)) };
}
