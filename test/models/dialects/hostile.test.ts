import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import type { Json, JsonObject } from '../../../src/contract/json.ts';
import { toGatewayMessages, toGatewayTool } from '../../../src/models/dialects/chat/transcript-to-chat.ts';
import { conversationKeys, readResults } from '../../../src/models/dialects/conversation.ts';
import { DIALECT_NAMES, type DialectName } from '../../../src/models/dialects/dialect.ts';
import { DIALECTS } from '../../../src/models/dialects/dialects.ts';
import type { ModelOutput } from '../../../src/models/dialects/model-output.ts';
import { createSeededRandom, type SeededRandom } from '../../../src/models/gateway/reference/seeded-random.ts';
import { GatewayFailure } from '../../../src/models/gateway-failure.ts';
import { call, output } from './outputs.ts';

/** `FUZZ_REQUESTS=10000` sends more. */
const ROUNDS = Number(process.env.FUZZ_REQUESTS ?? 150);
const HEAD = { id: 'step1', createdAt: 0, model: 'exam-model' };
const SCHEMA = { type: 'object', properties: { by: { type: 'integer' } } };
const IMAGE = 'data:image/png;base64,AAAA';

/** A request that has something of everything. */
const BODIES: Readonly<Record<DialectName, JsonObject>> = {
  chat: {
    model: 'm',
    stream: true,
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Go' },
          { type: 'image_url', image_url: { url: IMAGE } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'add', arguments: '{"by":1}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: '1' },
    ],
    tools: [
      { type: 'function', function: { name: 'add', parameters: SCHEMA } },
      {
        type: 'custom',
        custom: { name: 'patch', format: { type: 'grammar', grammar: { definition: 'x', syntax: 'lark' } } },
      },
    ],
    tool_choice: { type: 'function', function: { name: 'add' } },
    stream_options: { include_usage: true },
    response_format: { type: 'json_object' },
  },
  responses: {
    model: 'm',
    input: [
      { type: 'additional_tools', tools: [{ type: 'function', name: 'late', parameters: SCHEMA }] },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Go' },
          { type: 'input_image', image_url: IMAGE },
        ],
      },
      { type: 'reasoning', id: 'r', summary: [{ type: 'summary_text', text: 'Hm' }] },
      { type: 'function_call', call_id: 'c1', name: 'add', namespace: 'mcp__env', arguments: '{"by":1}' },
      { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: '1' }] },
      { type: 'local_shell_call', call_id: 'c2', action: { type: 'exec', command: ['ls'] } },
    ],
    tools: [
      { type: 'namespace', name: 'mcp__env', tools: [{ type: 'function', name: 'add', parameters: SCHEMA }] },
      { type: 'local_shell' },
    ],
    tool_choice: { type: 'allowed_tools', mode: 'required' },
    text: { format: { type: 'json_schema', name: 'a', schema: SCHEMA } },
    reasoning: { effort: 'low' },
  },
  messages: {
    model: 'm',
    max_tokens: 9,
    system: [{ type: 'text', text: 'Be brief.' }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Go' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A' } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm' },
          { type: 'tool_use', id: 'c1', name: 'add', input: { by: 1 } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: '1' }] }] },
    ],
    tools: [
      { name: 'add', input_schema: SCHEMA },
      { type: 'bash_20250124', name: 'bash' },
    ],
    tool_choice: { type: 'tool', name: 'add' },
    output_config: { effort: 'low' },
  },
  gemini: {
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    contents: [
      { role: 'user', parts: [{ text: 'Go' }, { inlineData: { mimeType: 'image/png', data: 'A' } }] },
      { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'add', args: { by: 1 } } }] },
      { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'add', response: { output: '1' } } }] },
    ],
    tools: [
      {
        functionDeclarations: [
          { name: 'add', parameters: { type: 'OBJECT', properties: { by: { type: 'INTEGER' } } } },
        ],
      },
    ],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['add'] } },
    generationConfig: { stopSequences: ['x'], responseMimeType: 'application/json' },
  },
};

const WORDS = [
  'constructor',
  'toString',
  'hasOwnProperty',
  'add',
  '',
  'constructor_call',
  '/',
  'data:',
  'data:,',
  '\ud800',
  '💥',
];
const JUNK: readonly Json[] = [
  null,
  true,
  -1,
  1e300,
  [],
  {},
  [[]],
  [null],
  ...WORDS,
  { type: 'constructor' },
  { type: {} },
  [{ type: 'function' }],
];

/** A copy in which one value, or a few, are something else. */
function spoilt(value: Json, random: SeededRandom): Json {
  if (random.chance(0.06)) return random.pick(JUNK);
  if (Array.isArray(value)) {
    const copies = value.map((each) => spoilt(each, random));
    return random.chance(0.05) ? [...copies, ...copies] : copies;
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]): [string, Json][] =>
      random.chance(0.04) ? [] : [[random.chance(0.02) ? random.pick(WORDS) : name, spoilt(member, random)]],
    ),
  );
}

/** Bodies of JSON.parse, which can have a member of this name. */
const withProto = (body: JsonObject): JsonObject =>
  JSON.parse(JSON.stringify(body).replaceAll('"by"', '"__proto__"').replaceAll('"type"', '"__proto__":{"x":1},"type"'));

describe.each(DIALECT_NAMES)('%s', (name) => {
  const dialect = DIALECTS[name];

  it('refuses a spoilt request by name of the field, or takes what can be read of it, and gives gateways what they take', () => {
    let taken = 0;
    for (let seed = 0; seed < ROUNDS; seed += 1) {
      const body = spoilt(BODIES[name], createSeededRandom(seed));
      try {
        const request = dialect.readRequest({ body, model: 'm', isStreamed: true });
        const messages = JSON.parse(JSON.stringify(toGatewayMessages(request.messages, true)));
        expect(messages).toBeInstanceOf(Array);
        const tools = JSON.parse(JSON.stringify(request.tools.map(toGatewayTool)));
        for (const tool of tools) {
          expect(tool.function.name, `seed ${seed}`).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
          expect(typeof tool.function.parameters, `seed ${seed}`).toBe('object');
        }
        conversationKeys(request.messages);
        readResults(request);
        const made = output({
          content: 'x',
          calls: request.tools.map((tool, index) => call(`c${index}`, tool.name, {})),
        });
        JSON.stringify(dialect.writeResponse(request, made, HEAD));
        const stream = dialect.createStream(request, HEAD);
        stream.complete(made);
        stream.end();
        expect(Object.values(request.settings).some((value) => typeof value === 'function')).toBe(false);
        taken += 1;
      } catch (thrown) {
        if (!(thrown instanceof ApiError)) throw new Error(`seed ${seed}: ${JSON.stringify(body)}`, { cause: thrown });
        expect(thrown.status, `seed ${seed}`).toBe(400);
      }
    }
    // Neither all nor nothing, or this test says little.
    expect(taken).toBeGreaterThan(ROUNDS / 10);
    expect(taken).toBeLessThan(ROUNDS);
  });

  it('is not moved by members called __proto__', () => {
    const request = dialect.readRequest({ body: withProto(BODIES[name]), model: 'm' });
    toGatewayMessages(request.messages);
    expect({}).not.toHaveProperty('x');
  });

  it('reads a spoilt answer of a gateway, or says that it is none', () => {
    const request = dialect.readRequest({ body: BODIES[name], model: 'm', isStreamed: true });
    const [tool] = request.tools;
    const made = output({ content: 'I add.', reasoning: 'Hm', calls: [call('c1', tool?.name ?? '', { by: 1 })] });
    const stream = dialect.createStream(request, HEAD);
    const frames =
      stream.delta({ reasoning: 'Hm' }) + stream.delta({ content: 'I ' }) + stream.complete(made) + stream.end();
    for (let seed = 0; seed < ROUNDS; seed += 1) {
      const random = createSeededRandom(seed);
      const whole = spoilt(dialect.writeResponse(request, made, HEAD), random);
      const spoiltFrames = frames.replaceAll(
        /^data: (\{.*\})$/gm,
        (_, json: string) => `data: ${JSON.stringify(spoilt(JSON.parse(json), random))}`,
      );
      const reader = dialect.createStreamReader(request);
      reader.add(Buffer.from(spoiltFrames));
      for (const answer of [answerOf(() => dialect.readResponse(request, whole)), answerOf(() => reader.finish())]) {
        if (answer === undefined) continue;
        expect(['stop', 'length', 'tool_calls', 'content_filter'], `seed ${seed}`).toContain(answer.finishReason);
        for (const { id, name: tool } of answer.message.tool_calls)
          expect([typeof id, typeof tool]).toEqual(['string', 'string']);
        expect(Object.values(answer.usage).every((count) => count === null || Number.isFinite(count))).toBe(true);
      }
    }
  });
});

/** Undefined where it is no answer. Anything else that is thrown is a fault. */
function answerOf(read: () => ModelOutput): ModelOutput | undefined {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof GatewayFailure) return undefined;
    throw thrown;
  }
}
