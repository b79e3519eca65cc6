import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/contract/json.ts';
import { continues, conversationKeys, readResults } from '../../../src/models/dialects/conversation.ts';
import { DIALECT_NAMES, type DialectName, type DialectRequest } from '../../../src/models/dialects/dialect.ts';
import { DIALECTS } from '../../../src/models/dialects/dialects.ts';
import type { ModelDelta, ModelOutput } from '../../../src/models/dialects/model-output.ts';
import { restoreSaid, saidKey } from '../../../src/models/dialects/reasoning-signature.ts';
import { createSeededRandom, type SeededRandom } from '../../../src/models/gateway/reference/seeded-random.ts';
import { call, output } from './outputs.ts';

const HEAD = { id: 'step1', createdAt: 0, model: 'exam-model' };
const ROUNDS = 60;

const TOOL_SCHEMA = { type: 'object', properties: {} };
const TOOLS: Readonly<Record<DialectName, JsonObject[]>> = {
  chat: [
    { type: 'function', function: { name: 'add', parameters: TOOL_SCHEMA } },
    { type: 'custom', custom: { name: 'patch' } },
  ],
  responses: [
    { type: 'namespace', name: 'mcp__env', tools: [{ type: 'function', name: 'add', parameters: TOOL_SCHEMA }] },
    { type: 'custom', name: 'patch' },
    { type: 'local_shell' },
  ],
  messages: [
    { name: 'add', input_schema: TOOL_SCHEMA },
    { type: 'bash_20250124', name: 'bash' },
  ],
  gemini: [{ functionDeclarations: [{ name: 'add', parametersJsonSchema: TOOL_SCHEMA }] }],
};

/** A request, to which `said` (messages as the dialect writes them) and results may follow. */
function request(name: DialectName, more: JsonObject[] = []): DialectRequest {
  const go = { chat: { role: 'user', content: 'Go' }, responses: { role: 'user', content: 'Go' } };
  const list: JsonObject[] = [
    name === 'gemini'
      ? { role: 'user', parts: [{ text: 'Go' }] }
      : (go[name === 'responses' ? 'responses' : 'chat'] as JsonObject),
    ...more,
  ];
  const field = { chat: 'messages', responses: 'input', messages: 'messages', gemini: 'contents' }[name];
  return DIALECTS[name].readRequest({
    body: { [field]: list, tools: TOOLS[name], stream: true, stream_options: { include_usage: true } },
    isStreamed: true,
  });
}

/** What an agent sends back of an answer. */
function echo(name: DialectName, body: JsonObject): JsonObject[] {
  if (name === 'chat') return [(body.choices as { message: JsonObject }[])[0]?.message ?? {}];
  if (name === 'responses') return body.output as JsonObject[];
  if (name === 'messages') return [{ role: 'assistant', content: body.content ?? [] }];
  return [(body.candidates as { content: JsonObject }[])[0]?.content ?? {}];
}

function result(name: DialectName, id: string, tool: string, text: string): JsonObject {
  if (name === 'chat') return { role: 'tool', tool_call_id: id, content: text };
  if (name === 'responses') return { type: 'function_call_output', call_id: id, output: text };
  if (name === 'messages') return { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: text }] };
  return { role: 'user', parts: [{ functionResponse: { id, name: tool, response: { output: text } } }] };
}

const PIECES = ['a', 'ß', '漢', '🙂', '\n', '\u2028', '\r\n', 'data: x\n\n', '"', '\\', ' ', '[DONE]', '\u0000'];

function text(random: SeededRandom): string {
  return Array.from({ length: random.integer(0, 12) }, () => PIECES[random.integer(0, PIECES.length - 1)]).join('');
}

function anOutput(random: SeededRandom, read: DialectRequest): ModelOutput {
  const calls = Array.from({ length: random.integer(0, 3) }, (_, index) => {
    const tool = read.tools[random.integer(0, read.tools.length - 1)];
    const args: JsonObject =
      tool?.form === 'custom'
        ? { input: text(random) }
        : tool?.own_name === 'local_shell'
          ? { command: ['ls'], env: {} }
          : { [text(random)]: text(random), n: random.integer(0, 9) };
    return call(`call_${index + 1}`, tool?.name ?? '', args);
  });
  const reasons =
    calls.length > 0 ? (['tool_calls', 'length'] as const) : (['stop', 'length', 'content_filter'] as const);
  return output({
    content: text(random),
    reasoning: text(random),
    calls,
    finishReason: reasons[random.integer(0, reasons.length - 1)] ?? 'stop',
  });
}

/** The same, as it is read: what is empty is left out, and Messages does not count reasoning. */
function expected(name: DialectName, { message, finishReason, usage }: ModelOutput) {
  return {
    message: {
      ...message,
      content: message.content || (message.tool_calls.length > 0 ? null : ''),
      reasoning: message.reasoning || null,
    },
    finishReason,
    usage: name === 'messages' ? { ...usage, reasoning_tokens: 0 } : usage,
  };
}

function seen({ message: { extra: _extra, ...message }, finishReason, usage }: ModelOutput) {
  return { message, finishReason, usage };
}

function cut(whole: string, random: SeededRandom): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < whole.length; ) {
    const end = at + random.integer(1, 5);
    pieces.push(whole.slice(at, end));
    at = end;
  }
  return pieces;
}

describe.each(DIALECT_NAMES)('%s', (name) => {
  const dialect = DIALECTS[name];

  it('reads what it writes, whole', () => {
    for (let seed = 0; seed < ROUNDS; seed += 1) {
      const read = request(name);
      const made = anOutput(createSeededRandom(seed), read);
      const body: unknown = JSON.parse(JSON.stringify(dialect.writeResponse(read, made, HEAD)));
      expect(seen(dialect.readResponse(read, body)), `seed ${seed}`).toEqual(expected(name, made));
    }
  });

  it('reads what it streams, however the bytes are cut, and hands the same bytes on', () => {
    for (let seed = 0; seed < ROUNDS; seed += 1) {
      const random = createSeededRandom(seed);
      const read = request(name);
      const made = anOutput(random, read);
      const stream = dialect.createStream(read, HEAD);
      const deltas: ModelDelta[] = [
        ...cut(made.message.reasoning ?? '', random).map((reasoning) => ({ reasoning })),
        ...cut(made.message.content ?? '', random).map((content) => ({ content })),
      ].slice(random.integer(0, 1) * 1_000); // Some models send all of it at the end.
      const before = stream.keepAlive() + deltas.map((delta) => stream.delta(delta) + stream.keepAlive()).join('');
      const wire = Buffer.from(before + stream.complete(made) + stream.end());
      const reader = dialect.createStreamReader(read);
      const heard: ModelDelta[] = [];
      reader.onDelta = (delta) => heard.push(delta);
      const passed: Uint8Array[] = [];
      for (let at = 0; at < wire.length; ) {
        const end = at + random.integer(1, 90);
        passed.push(reader.add(wire.subarray(at, end)));
        at = end;
      }
      expect(seen(reader.finish()), `seed ${seed}`).toEqual(expected(name, made));
      expect(Buffer.concat([...passed, reader.heldBack]).equals(wire), `seed ${seed}`).toBe(true);
      expect(heard.map(({ content }) => content ?? '').join('')).toBe(made.message.content ?? '');
      const handed = Buffer.concat(passed).toString();
      for (const ending of ENDINGS[name]) expect(handed).not.toContain(ending);
    }
  });

  it('a stream that ends before its end is lost, and one with an error says it', () => {
    const read = request(name);
    const cutShort = dialect.createStreamReader(read);
    cutShort.add(Buffer.from(dialect.createStream(read, HEAD).delta({ content: 'Half' })));
    expect(() => cutShort.finish()).toThrow(expect.objectContaining({ name: 'GatewayFailure', kind: 'lost' }));
    const failed = dialect.createStreamReader(read);
    const error = { status: 503, code: 'x', message: 'Too many', param: null, headers: {} };
    const frames = dialect.createStream(read, HEAD).fail(error);
    failed.add(Buffer.from(frames));
    expect(() => failed.finish()).toThrow(expect.objectContaining({ kind: 'answered', message: 'Too many' }));
    expect(() => dialect.readResponse(read, dialect.writeError(error).body)).toThrow('Too many');
  });

  it('knows its own answer again when an agent sends it back', () => {
    for (let seed = 0; seed < ROUNDS; seed += 1) {
      const made = anOutput(createSeededRandom(seed), request(name));
      // An answer that was not cut, so that it says something.
      const { message } = expected(name, {
        ...made,
        message: { ...made.message, content: `${made.message.content}.` },
      });
      const body = dialect.writeResponse(request(name), { ...made, message, finishReason: 'stop' }, HEAD);
      const again = request(name, echo(name, body)).messages[1];
      expect(again, `seed ${seed}`).toEqual(message);
    }
  });
});

const ENDINGS: Readonly<Record<DialectName, readonly string[]>> = {
  chat: ['data: [DONE]', '"finish_reason":"'],
  responses: ['event: response.completed', 'event: response.incomplete'],
  messages: ['event: message_delta', 'event: message_stop'],
  gemini: ['"finishReason":'],
};

describe('one conversation', () => {
  const made = output({
    content: 'I add. ',
    reasoning: 'Hm',
    calls: [call('c1', 'add', { by: 1 }), call('c2', 'add', { by: 2 })],
  });

  function conversation(name: DialectName, count: number): DialectRequest {
    const first = request(name);
    const named = {
      ...made.message,
      tool_calls: made.message.tool_calls.map((each) => ({ ...each, name: first.tools[0]?.name ?? '' })),
    };
    const said = echo(name, DIALECTS[name].writeResponse(first, { ...made, message: named }, HEAD));
    const next = name === 'gemini' ? { role: 'user', parts: [{ text: 'And?' }] } : { role: 'user', content: 'And?' };
    const steps: JsonObject[][] = [said, [result(name, 'c1', 'add', '1'), result(name, 'c2', 'add', '2')], [next]];
    return request(name, steps.slice(0, count).flat());
  }

  it.each(DIALECT_NAMES)('has keys of which a longer one begins with those of the shorter one, in %s', (name) => {
    const keys = [0, 1, 2, 3].map((count) => conversationKeys(conversation(name, count).messages));
    for (const [index, longer] of keys.entries()) {
      for (const shorter of keys.slice(0, index + 1)) expect(continues(longer, shorter)).toBe(true);
    }
    expect(keys.map(({ length }) => length)).toEqual([1, 4, 6, 7]);
    expect(continues(conversationKeys(request(name, []).messages), keys[1] ?? [])).toBe(false);
  });

  it('has the same keys in the dialects whose tools have the same names', () => {
    const [chat, messages, gemini] = (['chat', 'messages', 'gemini'] as const).map((name) =>
      conversationKeys(conversation(name, 3).messages),
    );
    expect(messages).toEqual(chat);
    expect(gemini).toEqual(chat);
  });

  it.each(DIALECT_NAMES)('reports its results by call, in %s', (name) => {
    expect(readResults(conversation(name, 3))).toMatchObject([
      { tool_call_id: 'c1', own_name: 'add', namespace: name === 'responses' ? 'mcp__env' : null, text: '1' },
      { tool_call_id: 'c2', own_name: 'add', text: '2', imageHashes: [] },
    ]);
  });

  it('gets back what the agent had no place for: fields of the provider, and ids of calls', () => {
    const { messages } = conversation('gemini', 3);
    const recorded = {
      ...made.message,
      tool_calls: made.message.tool_calls.map((each, index) => ({ ...each, id: `gateway_${index}` })),
      extra: { tool_calls: { gateway_0: { signature: 'x' } } },
    };
    const restored = restoreSaid(messages, (key) => (key === saidKey(recorded) ? recorded : undefined));
    expect(restored[1]).toEqual(recorded);
    expect(restored.slice(2, 4)).toMatchObject([{ tool_call_id: 'gateway_0' }, { tool_call_id: 'gateway_1' }]);
  });
});
