import { EnvironmentServer, serveMain } from 'proctor';
import { z } from 'zod';

/** An archive whose tools ask the person, and the model, behind the client. */
export default function archive() {
  const letters = ['Dear Ada, the boat leaves at nine.', 'Dear Bob, bring the tent.'];
  const env = new EnvironmentServer({ name: 'archive' });

  env.tool('burn', { description: 'Burns every letter, once somebody has agreed.' }, async (_args, ctx) => {
    const { action, content } = await ctx.elicit({
      message: `Burn ${letters.length} letters?`,
      requestedSchema: { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] },
    });
    if (action !== 'accept' || content?.sure !== true) return 'Nothing was burned.';
    return `${letters.splice(0).length} letters were burned.`;
  });

  env.tool('summary', { args: { letter: z.int().min(1).max(2) } }, async ({ letter }, ctx) => {
    const text = letters[letter - 1] ?? '';
    if (!ctx.capabilities.sampling) return text;
    const messages = [{ role: 'user', content: `Five words at most: ${text}` }] as const;
    const { content } = await ctx.sample({ messages, maxTokens: 50 });
    return [content];
  });

  return env;
}

serveMain(import.meta, archive);
