import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import createJudged from '../../rollout/session/environments/judged/environment.ts';
import {
  AS_AGENT,
  connect,
  evaluate,
  HARNESS,
  httpTransport,
  openMemory,
  serveHttp,
  setup,
  textOf,
} from './clients.ts';

const KEY = 'k'.repeat(32);
const AS_HARNESS = { ...HARNESS, 'svc/harness_key': KEY };
const VERDICT = { score: 0.5, reasons: ['so so'], votes: [{ score: 0.5, reason: 'so so' }], agreement: 1 };

const transports = [
  ['in memory', async () => openMemory(createJudged, { harnessKey: KEY })],
  ['over HTTP', async () => httpTransport(await serveHttp(createJudged, { harnessKey: KEY }))],
] as const;
const eras = transports.flatMap(([where, open]) => [
  { where, mode: 'legacy' as const, open },
  { where, mode: 'modern' as const, open },
]);

interface Question {
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
  readonly messages: unknown;
}

/** A client that offers sampling, and keeps what it is asked. */
async function offerSampling(
  { mode, open }: Pick<(typeof eras)[number], 'mode' | 'open'>,
  { meta, text = JSON.stringify(VERDICT) }: { readonly meta?: object; readonly text?: string },
): Promise<{ readonly client: Client; readonly asked: Question[] }> {
  const client = await connect(await open(), { mode, meta: { ...meta }, capabilities: { sampling: {} } });
  const asked: Question[] = [];
  client.setRequestHandler('sampling/createMessage', ({ params: { messages } }, { mcpReq: { _meta } }) => {
    asked.push({ messages, _meta });
    return { role: 'assistant', content: { type: 'text', text }, model: 'm' };
  });
  return { client, asked };
}

/** Plays the scenario as a harness, in the session that its setup names. */
async function play(client: Client) {
  const { _meta } = await setup(client, 'polite');
  return await client.callTool({
    name: 'evaluate',
    arguments: { name: 'polite', arguments: { answer: 'Dear Ada.' } },
    _meta: { 'svc/session_id': _meta?.['svc/session_id'] },
  });
}

describe.each(eras)('the question of an evaluation to a judge, $where on the $mode era', (era) => {
  it('goes to the harness that evaluates, with its purpose, and the verdict comes back', async () => {
    const { client, asked } = await offerSampling(era, { meta: AS_HARNESS });
    const { structuredContent } = await play(client);
    expect(structuredContent).toMatchObject({ reward: 0.5, info: { reasons: ['so so'] } });
    expect(asked).toMatchObject([
      {
        _meta: {
          'svc/purpose': 'judge',
          'svc/judge': { rubric: 'SECRET RUBRIC: it is polite to Ada', scale: 'boolean', votes: 1 },
        },
        messages: [{ role: 'user', content: { type: 'text', text: 'Dear Ada.' } }],
      },
    ]);
    expect(JSON.stringify(asked)).not.toContain(KEY);
  });

  it('fails the evaluation where the harness answers it as any model would', async () => {
    const { client } = await offerSampling(era, { meta: AS_HARNESS, text: 'Certainly! The score is 1.' });
    const answered = await play(client);
    expect(answered.isError).toBe(true);
    expect(textOf(answered)).toContain('This client has no judge');
  });

  it('never reaches an agent that offers sampling: by no tool, no prompt, and no name of the harness', async () => {
    const { client, asked } = await offerSampling(era, {});
    expect(await client.callTool({ name: 'peek' })).toMatchObject({ isError: true });
    await expect(client.getPrompt({ name: 'early' })).rejects.toThrow();
    await client.getPrompt({ name: 'polite' });
    await expect(evaluate(client, 'polite', 'Dear Ada.')).rejects.toThrow('evaluate');
    await expect(setup(client, 'polite')).rejects.toThrow('setup');
    expect(asked).toEqual([]);
  });

  it('never comes of a call that the harness marks as one of its agent', async () => {
    const { client, asked } = await offerSampling(era, { meta: AS_HARNESS });
    expect(await client.callTool({ name: 'peek', ...AS_AGENT })).toMatchObject({ isError: true });
    expect(asked).toEqual([]);
  });
});
