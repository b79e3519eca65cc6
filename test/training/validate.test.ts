import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/contract/json.ts';
import type { DatasetFormat } from '../../src/contract/service/dataset.ts';
import { createRedactor } from '../../src/support/redaction/redactor.ts';
import { checkLine } from '../../src/training/dataset/validate/check-line.ts';
import { describeProblem, type FileProblem, validateFile } from '../../src/training/dataset/validate/validate-file.ts';
import { temporaryDirectory } from '../service/runs/service.ts';

const TOOLS = [
  { type: 'function', function: { name: 'f', description: 'F', parameters: { type: 'object', properties: {} } } },
];
const USER = { role: 'user', content: 'Do it' };
const call = (args: unknown, fields: object = {}) => ({
  id: 'c1',
  type: 'function',
  function: { name: 'f', arguments: args },
  ...fields,
});
const CALL = { role: 'assistant', content: null, tool_calls: [call('{"a":1}')] };
const RESULT = { role: 'tool', tool_call_id: 'c1', content: 'ok' };
const DONE = { role: 'assistant', content: 'Done' };
const line = (messages: readonly object[], fields: object = { tools: TOOLS }) =>
  ({ messages, ...fields }) as unknown as JsonObject;
const AGENT = {
  step_id: 1,
  source: 'agent',
  message: '',
  tool_calls: [{ tool_call_id: 'c1', function_name: 'f', arguments: {} }],
  observation: { results: [{ source_call_id: 'c1', content: 'ok' }] },
};
const TRAJECTORY = {
  schema_version: 'ATIF-v1.8',
  agent: { name: 'a', version: '1', tool_definitions: TOOLS },
  steps: [AGENT],
};
const NOTHING = 'error nothing_trained steps';

function codes(format: DatasetFormat, given: JsonObject): readonly string[] {
  return checkLine(format, given).map(({ level, code, path }) => `${level} ${code} ${path}`);
}

describe('what a trainer refuses in a line', () => {
  it('is nothing in a good one', () => {
    expect(codes('openai', line([{ role: 'system', content: 'S' }, USER, CALL, RESULT, DONE]))).toEqual([]);
    expect(codes('openai', line([USER, { ...CALL, weight: 0 }, RESULT, { ...DONE, weight: 1 }]))).toEqual([]);
    expect(codes('openai', line([USER, DONE], {}))).toEqual([]);
  });

  it.each<[string, object, readonly string[]]>([
    ['nothing in a good trajectory', {}, []],
    ['no version', { schema_version: '1.8' }, ['error schema_version schema_version']],
    ['a field of others', { reward: 1 }, ['error unknown_field reward']],
    ['no version of the agent', { agent: { name: 'a' } }, ['error agent agent']],
    ['steps that do not count', { steps: [{ ...AGENT, step_id: 2 }] }, ['error step_id steps.0.step_id']],
    ['nobody who speaks', { steps: [{ ...AGENT, source: 'tool' }] }, ['error source steps.0.source', NOTHING]],
    ['a call of a user', { steps: [{ ...AGENT, source: 'user' }] }, ['error of_agent steps.0.tool_calls', NOTHING]],
    ["a step of nobody's model", { steps: [{ ...AGENT, llm_call_count: 0 }] }, [NOTHING]],
    ['a step of weight 0 alone', { steps: [{ ...AGENT, extra: { proctor: { weight: 0 } } }] }, [NOTHING]],
    [
      'arguments that are a text',
      { steps: [{ ...AGENT, tool_calls: [{ tool_call_id: 'c1', function_name: 'f', arguments: '{}' }] }] },
      ['error arguments steps.0.tool_calls.0.arguments'],
    ],
    [
      'an answer to another step',
      { steps: [{ ...AGENT, observation: { results: [{ source_call_id: 'c2', content: '' }] } }] },
      ['error tool_answer steps.0.observation.results.0.source_call_id'],
    ],
  ])('of atif is %s', (_name, fields, wanted) => {
    expect(codes('atif', { ...TRAJECTORY, ...fields } as unknown as JsonObject)).toEqual(wanted);
  });

  it.each<[string, readonly object[], object, readonly string[]]>([
    ['no messages', [], {}, ['error messages messages']],
    ['an unknown role', [{ role: 'human', content: 'x' }, DONE], {}, ['error role messages.0.role']],
    ['an end that is not the assistant', [USER, CALL, RESULT], { tools: TOOLS }, ['error last_message messages']],
    ['nothing that is trained on', [USER, { ...DONE, weight: 0 }], {}, ['error nothing_trained messages']],
    ['a weight of something else', [USER, { ...DONE, weight: 2 }], {}, ['error weight messages.1.weight']],
    ['a weight of a user', [{ ...USER, weight: 0 }, DONE], {}, ['error weight messages.0.weight']],
    [
      'arguments that are an object',
      [USER, { ...CALL, tool_calls: [call({ a: 1 })] }, RESULT, DONE],
      { tools: TOOLS },
      ['error arguments messages.1.tool_calls.0.function.arguments'],
    ],
    [
      'arguments that are no JSON',
      [USER, { ...CALL, tool_calls: [call('{"a":')] }, RESULT, DONE],
      { tools: TOOLS },
      ['error arguments messages.1.tool_calls.0.function.arguments'],
    ],
    ['a call without an answer', [USER, CALL, DONE], { tools: TOOLS }, ['error tool_answer messages.2']],
    ['an answer to nothing', [USER, RESULT, DONE], { tools: TOOLS }, ['error tool_answer messages.1.tool_call_id']],
    [
      'two answers to one call',
      [USER, CALL, RESULT, RESULT, DONE],
      { tools: TOOLS },
      ['error tool_answer messages.3.tool_call_id'],
    ],
    [
      'a tool that is not offered',
      [USER, CALL, RESULT, DONE],
      {},
      ['error unknown_tool messages.1.tool_calls.0.function.name'],
    ],
    ['tools that are none', [USER, DONE], { tools: [] }, ['error tools tools']],
    [
      'a field that there is not',
      [{ ...USER, mood: 'good' }, DONE],
      { extra: 1 },
      ['error unknown_field extra', 'error unknown_field messages.0.mood'],
    ],
    ['a null without calls', [USER, { role: 'assistant', content: null }], {}, ['error content messages.1.content']],
  ])('is %s', (_, messages, fields, found) => {
    expect(codes('openai', line(messages, fields))).toEqual(found);
  });

  it('is for TRL a text of arguments, and a weight', () => {
    const objects = { ...CALL, content: '', tool_calls: [call({ a: 1 })] };
    expect(codes('trl', line([USER, objects, RESULT, DONE]))).toEqual([]);
    expect(codes('trl', line([USER, { ...CALL, content: '' }, RESULT, DONE]))).toEqual([
      'error arguments messages.1.tool_calls.0.function.arguments',
    ]);
    expect(codes('trl', line([USER, { ...DONE, weight: 0 }], {}))).toEqual(['error unknown_field messages.1.weight']);
  });

  it('is for Axolotl a train that is no boolean', () => {
    expect(codes('axolotl', line([USER, { ...DONE, train: false }, USER, DONE], {}))).toEqual([]);
    expect(codes('axolotl', line([USER, { ...DONE, train: 0 }], {}))).toEqual(['error train messages.1.train']);
  });

  it('is for LLaMA-Factory roles that do not take turns, which it would skip without an error', () => {
    const tools = { tools: JSON.stringify(TOOLS) };
    const objects = { role: 'assistant', content: '', tool_calls: [call({ a: 1 }), call({}, { id: 'c2' })] };
    const results = [RESULT, { ...RESULT, tool_call_id: 'c2' }];
    expect(
      codes('llama-factory', line([{ role: 'system', content: 'S' }, USER, objects, ...results, DONE], tools)),
    ).toEqual([]);
    expect(codes('llama-factory', line([USER, USER, DONE], tools))).toEqual(['error turns messages.1']);
    expect(codes('llama-factory', line([USER, objects, ...results, USER, DONE], tools))).toEqual([
      'error turns messages.4',
    ]);
    expect(codes('llama-factory', line([USER, DONE]))).toEqual(['error tools tools']);
  });

  it('is in a pair more than one message on a side, the same on both, or an input that ends with the assistant', () => {
    const pair = (fields: object) =>
      ({
        input: { messages: [USER], tools: TOOLS },
        preferred_output: [DONE],
        non_preferred_output: [{ role: 'assistant', content: 'No' }],
        ...fields,
      }) as unknown as JsonObject;
    expect(codes('openai-dpo', pair({}))).toEqual([]);
    expect(codes('openai-dpo', pair({ preferred_output: [CALL] }))).toEqual(['warning side_calls preferred_output']);
    expect(codes('openai-dpo', pair({ preferred_output: [DONE, DONE] }))).toEqual(['error side preferred_output']);
    expect(codes('openai-dpo', pair({ non_preferred_output: [DONE] }))).toEqual([
      'error same_sides non_preferred_output',
    ]);
    expect(codes('openai-dpo', pair({ input: { messages: [USER, DONE] } }))).toEqual([
      'error last_message input.messages',
    ]);
  });
});

describe('a file of lines', () => {
  const GOOD = JSON.stringify(line([USER, DONE], {}));

  async function validate(content: string | Uint8Array, options: object = {}) {
    const path = join(temporaryDirectory(), 'train.jsonl');
    writeFileSync(path, content);
    const problems: FileProblem[] = [];
    const { signal } = new AbortController();
    const result = await validateFile(path, {
      format: 'openai',
      signal,
      onProblem: (problem) => problems.push(problem),
      ...options,
    });
    return { ...result, said: problems.map((problem) => describeProblem('train.jsonl', problem)) };
  }

  it('is told of with file and line for each problem', async () => {
    const bad = JSON.stringify(line([USER], {}));
    const found = await validate(
      [GOOD, bad, 'no json', '', '[]', JSON.stringify({ messages: [USER, DONE], tools: TOOLS })].join('\n'),
    );
    expect(found).toMatchObject({ lines: 5, errors: 5, warnings: 1 });
    expect(found.said).toEqual([
      'train.jsonl:2: messages has to end with a message of the assistant: that is what is learned',
      expect.stringMatching(/^train\.jsonl:3: the line is not JSON: /),
      'train.jsonl:4: the line is empty',
      'train.jsonl:5: the line has to be a JSON object, got []',
      expect.stringMatching(
        /^train\.jsonl:6: the line has the fields messages, tools, and the first line has messages/,
      ),
      'train.jsonl: the file has 5 lines: OpenAI takes no fewer than 10',
    ]);
  });

  it('is UTF-8 without a mark, with line feeds alone', async () => {
    const lines = Array.from({ length: 10 }, () => GOOD).join('\n');
    expect((await validate(`${lines}\n`)).said).toEqual([]);
    expect((await validate(`\ufeff${lines}\n`)).said).toEqual([
      expect.stringContaining(':1: the line begins with a byte order mark'),
    ]);
    expect((await validate(lines.replaceAll('\n', '\r\n'))).errors).toBe(9);
    expect(
      (await validate(Buffer.concat([Buffer.from(`${lines}\n"`), Buffer.from([0xff]), Buffer.from('"')]))).said,
    ).toEqual(['train.jsonl:11: the line is not UTF-8']);
    expect((await validate('')).said).toEqual(['train.jsonl: the file has no lines: there is nothing to train on']);
  });

  it('has no line that is longer than 32 MiB, and no secret that is known', async () => {
    const long = JSON.stringify(line([{ role: 'user', content: 'x'.repeat(33 * 1_024 * 1_024) }, DONE], {}));
    expect((await validate(`${long}\n${GOOD}\n`)).said[0]).toBe('train.jsonl:1: the line is longer than 32 MiB');
    const redactor = createRedactor([{ name: 'word', value: 'hunter2-the-wordy' }]);
    const secret = JSON.stringify(line([{ role: 'user', content: 'It is hunter2-the-wordy' }, DONE], {}));
    const { said } = await validate(`${GOOD}\n${secret}\n`, { redactor });
    expect(said[0]).toBe('train.jsonl:2: the line holds a secret of this installation');
    expect(said.join()).not.toContain('hunter2');
  });
});
