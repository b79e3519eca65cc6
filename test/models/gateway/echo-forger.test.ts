import { describe, expect, it } from 'vitest';
import type { JsonSchema } from '../../../src/contract/json.ts';
import { HARNESS_HUBS } from '../../../src/contract/names.ts';
import type { ModelRequest, ReferenceContext } from '../../../src/models/gateway/chat-model.ts';
import { literalsOf } from '../../../src/models/gateway/reference/prompt-literals.ts';
import { createReferenceModel } from '../../../src/models/gateway/reference/reference-models.ts';

const contextOf = (seed: number | null, schema: JsonSchema | null = null): ReferenceContext => ({
  seed,
  scenario: 'find',
  answerSchema: () => schema,
  solution: () => Promise.reject(new Error('there is none')),
});

const request = (text: string, tools: ModelRequest['tools'] = []): ModelRequest => ({
  messages: [{ role: 'user', content: text }],
  tools,
  sampling: {},
  signal: new AbortController().signal,
});

describe('proctor/echo', () => {
  const prompt = 'Which code does "Ada" have: K-17 or 4.5?';

  it('says the prompt, and with a seed one literal of it', async () => {
    expect(literalsOf(prompt)).toEqual(['Ada', 'K-17', '4.5']);
    const said = async (seed: number | null) =>
      (await createReferenceModel('proctor/echo', contextOf(seed)).respond(request(prompt))).message.content;
    expect(await said(null)).toBe(prompt);
    expect(await said(0)).toBe(prompt);
    expect(await said(2)).toBe('K-17');
    expect(await said(9)).toBe(prompt);
  });

  it('says it as the schema of the answer takes it', async () => {
    const schema = { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] };
    const model = createReferenceModel('proctor/echo', contextOf(1, schema));
    expect((await model.respond(request(prompt))).message.content).toBe('{"code":"Ada"}');
    const strict = { type: 'object', properties: { code: { enum: ['A', 'B'] } }, required: ['code'] };
    const other = createReferenceModel('proctor/echo', contextOf(1, strict));
    expect((await other.respond(request(prompt))).message.content).toBe('{"code":"A"}');
  });
});

describe('proctor/forger', () => {
  const tools: ModelRequest['tools'] = [
    {
      name: 'write_note',
      description: 'Writes.',
      input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    },
  ];

  it("calls the harness's functions, tries arguments of tools, and answers like a grader", async () => {
    const model = createReferenceModel('proctor/forger', contextOf(1));
    const calls: { name: string; arguments: object }[] = [];
    for (let response = 0; response < 100; response += 1) {
      const { message } = await model.respond(request('Do it.', tools));
      calls.push(...message.tool_calls);
      if (message.tool_calls.length > 0) continue;
      expect(message.content).toBe('reward: 1.0');
      break;
    }
    const names = calls.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining([...HARNESS_HUBS]));
    const tried = calls.filter(({ name }) => name === 'write_note').map((call) => JSON.stringify(call.arguments));
    expect(tried.join()).toContain('/proc/self/environ');
    // A tool that writes is given no path of a file that is somebody's.
    expect(tried).not.toContain('{"path":"environment.ts"}');
  });
});
