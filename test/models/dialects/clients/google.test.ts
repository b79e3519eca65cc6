import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../../src/contract/errors.ts';
import { GoogleGenAI } from '../../../referees/clients/google.mjs';
import { type Play, serveDialects } from '../dialect-server.ts';
import { call, output } from '../outputs.ts';

async function open(plays: readonly Play[], options: { readonly apiVersion?: string } = {}) {
  const server = await serveDialects(...plays);
  const client = new GoogleGenAI({ apiKey: 'secret', httpOptions: { baseUrl: server.url }, ...options });
  return { server, client };
}

const DECLARATION = {
  name: 'add',
  description: 'Adds',
  parameters: { type: 'OBJECT', properties: { by: { type: 'INTEGER', nullable: true } }, required: ['by'] },
};
const ASK = {
  model: 'gemini-any',
  contents: 'Go',
  config: { systemInstruction: 'Be brief.', maxOutputTokens: 9, tools: [{ functionDeclarations: [DECLARATION] }] },
};
const CALLS = output({
  content: 'I add.',
  reasoning: 'It is 2.',
  calls: [call('c1', 'add', { by: 1 }), call('c2', 'add', {})],
});
const DELTAS = [{ reasoning: 'It is' }, { reasoning: ' 2.' }, { content: 'I ' }, { content: 'add.' }];

describe("Google's client", () => {
  it.each([['v1beta'], ['v1'], [undefined]])(
    'reads text, thoughts, calls and usage, with API version %s',
    async (apiVersion) => {
      const { client, server } = await open([{ output: CALLS }], apiVersion === undefined ? {} : { apiVersion });
      const answer = await client.models.generateContent(ASK);
      expect(answer.text).toBe('I add.');
      expect(answer.functionCalls).toEqual([
        { id: 'c1', name: 'add', args: { by: 1 } },
        { id: 'c2', name: 'add', args: {} },
      ]);
      expect(answer.usageMetadata).toMatchObject({
        promptTokenCount: 120,
        candidatesTokenCount: 20,
        thoughtsTokenCount: 10,
      });
      expect(server.requests[0]).toMatchObject({
        model: 'gemini-any',
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: [{ type: 'text', text: 'Go' }] },
        ],
        settings: { max_tokens: 9 },
      });
      expect(server.requests[0]?.tools[0]?.input_schema).toEqual({
        type: 'object',
        properties: { by: { type: ['integer', 'null'] } },
        required: ['by'],
      });
    },
  );

  it('reads a stream, past comments, piece by piece', async () => {
    const { client } = await open([{ output: CALLS, deltas: DELTAS }]);
    const texts: string[] = [];
    const calls: unknown[] = [];
    let last: string | undefined;
    for await (const chunk of await client.models.generateContentStream(ASK)) {
      texts.push(chunk.text ?? '');
      calls.push(...(chunk.functionCalls ?? []));
      last = chunk.candidates?.[0]?.finishReason;
    }
    expect(texts.join('')).toBe('I add.');
    expect(calls).toHaveLength(2);
    expect(last).toBe('STOP');
  });

  it('goes on with the parts that came, and results by id or by name alone', async () => {
    const { client, server } = await open([{ output: CALLS }]);
    const answer = await client.models.generateContent(ASK);
    const parts = answer.candidates?.[0]?.content?.parts ?? [];
    const withoutIds = parts.map((part) =>
      part.functionCall === undefined
        ? part
        : { functionCall: { name: part.functionCall.name, args: part.functionCall.args } },
    );
    const results = [
      { functionResponse: { name: 'add', response: { output: '1' } } },
      { functionResponse: { name: 'add', response: { error: 'No' } } },
    ];
    const contents = [
      { role: 'user', parts: [{ text: 'Go' }] },
      { role: 'model', parts: withoutIds },
      { role: 'user', parts: results },
    ];
    await client.models.generateContent({ ...ASK, contents });
    expect(server.requests[1]?.messages.slice(2)).toMatchObject([
      { role: 'assistant', reasoning: 'It is 2.', content: 'I add.', tool_calls: [{ id: 'call_1' }, { id: 'call_2' }] },
      { role: 'tool', tool_call_id: 'call_1', content: [{ text: '1' }], is_error: false },
      { role: 'tool', tool_call_id: 'call_2', content: [{ text: 'No' }], is_error: true },
    ]);
  });

  it('counts tokens and lists models', async () => {
    const { client } = await open([]);
    expect((await client.models.countTokens({ model: 'm', contents: 'Go' })).totalTokens).toBe(42);
    expect((await client.models.list()).page.map(({ name }) => name)).toEqual(['models/exam-model']);
  });

  it('gets errors with their status, before and inside a stream', async () => {
    const error = new ApiError('run_finished', 'The run has ended.');
    const { client } = await open([{ error }, { error, afterDeltas: DELTAS }]);
    await expect(client.models.generateContent(ASK)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('run_finished'),
    });
    const read = async () => {
      for await (const _chunk of await client.models.generateContentStream(ASK));
    };
    await expect(read()).rejects.toMatchObject({ status: 400 });
  });
});
