import { EnvironmentServer } from 'proctor';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import type { EnvironmentTarget } from '../../src/client/environment-client.ts';
import { inMemory } from '../../src/mcp/in-memory.ts';
import { delta, frames, startGateway } from '../model/fake-gateway.ts';

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
  const gateway = await startGateway((response) => {
    const body = gateway.requests.at(-1)?.body ?? {};
    const lines = SAYS[String(body.model)] ?? [''];
    // One of the messages is what the harness begins with.
    const said = (body.messages as { role: string }[]).filter(({ role }) => role === 'assistant').length;
    const first = body.model === 'guest' ? 1 : 0;
    const text = lines[Math.min(Math.max(0, said - first), lines.length - 1)];
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(
      `${frames(delta({ role: 'assistant', content: text }), { ...delta({}, 'stop'), usage: USAGE })}data: [DONE]\n\n`,
    );
  });
  onTestFinished(() => gateway.close());
  return { url: gateway.url, asked: () => gateway.requests.map(({ body }) => String(body.model)) };
}
