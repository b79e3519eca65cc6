import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/contract/json.ts';
import type { DialectName } from '../../../src/models/dialects/dialect.ts';
import { guardedByKey } from '../../../src/service/chat/serve-scenarios.ts';
import { send } from '../../support/http/http-server.ts';
import { expectUntouched, HELLO, JSON_TYPE, sharedServer } from './refusal-table.ts';
import { counting } from './server.ts';

interface Protocol {
  readonly path: string;
  readonly body: JsonObject;
  /** The field that an error names, as the protocol's own error form has it. */
  paramOf(body: unknown): unknown;
}

const GEMINI = '/v1beta/models/test-model:generateContent';
const paramOf = (body: unknown) => (body as { readonly error: { readonly param: unknown } }).error.param;

interface GeminiRefusal {
  readonly error: { readonly details: readonly { readonly fieldViolations?: readonly { readonly field: string }[] }[] };
}

const PROTOCOLS: Readonly<Record<DialectName, Protocol>> = {
  chat: { path: '/v1/chat/completions', body: { messages: HELLO }, paramOf },
  responses: { path: '/v1/responses', body: { input: HELLO }, paramOf },
  messages: { path: '/v1/messages', body: { max_tokens: 100, messages: HELLO }, paramOf },
  gemini: {
    path: GEMINI,
    body: { contents: [{ role: 'user', parts: [{ text: 'Hello.' }] }] },
    paramOf: (body) =>
      (body as GeminiRefusal).error.details.flatMap(({ fieldViolations = [] }) => fieldViolations)[0]?.field,
  },
};

/** The value of a field that has another type than `right`. */
const wrongFor = (right: unknown) => (typeof right === 'string' ? 5 : typeof right === 'boolean' ? 'yes' : 'wrong');

/** A right value for each setting that is read, by its path. */
const SETTINGS: Readonly<Record<DialectName, Readonly<Record<string, unknown>>>> = {
  chat: {
    temperature: 0.5,
    top_p: 0.5,
    top_k: 5,
    min_p: 0.1,
    max_tokens: 50,
    max_completion_tokens: 50,
    seed: 1,
    presence_penalty: 0.1,
    frequency_penalty: 0.1,
    repetition_penalty: 1.1,
    logit_bias: { 5: 1 },
    logprobs: true,
    top_logprobs: 2,
    response_format: { type: 'text' },
    reasoning_effort: 'low',
    reasoning: { effort: 'low' },
    verbosity: 'low',
    parallel_tool_calls: true,
    service_tier: 'auto',
    prompt_cache_key: 'key',
    prompt_cache_retention: '24h',
    safety_identifier: 'someone',
    user: 'someone',
    chat_template_kwargs: { enable_thinking: false },
    thinking: { type: 'enabled' },
    enable_thinking: true,
    provider: { order: ['one'] },
    models: ['one', 'two'],
    min_tokens: 1,
    stop_token_ids: [1, 2],
    ignore_eos: false,
    return_token_ids: true,
    functions: [],
    stream_options: { include_usage: true },
  },
  responses: {
    instructions: 'Be brief.',
    temperature: 0.5,
    top_p: 0.5,
    max_output_tokens: 50,
    parallel_tool_calls: true,
    background: false,
    reasoning: { effort: 'low' },
    'reasoning.effort': 'low',
    text: { format: { type: 'text' } },
    'text.format': { type: 'text' },
    'text.format.type': 'json_object',
  },
  messages: {
    max_tokens: 50,
    temperature: 0.5,
    top_p: 0.5,
    top_k: 5,
    stop_sequences: ['END'],
    thinking: { type: 'enabled', budget_tokens: 1024 },
    output_config: { effort: 'low' },
    'output_config.effort': 'low',
    'output_config.format': { type: 'json_schema', schema: { type: 'object' } },
    output_format: { type: 'json_schema', schema: { type: 'object' } },
  },
  gemini: Object.fromEntries(
    ['generationConfig', 'generation_config'].flatMap((config) => [
      [config, {}],
      [`${config}.temperature`, 0.5],
      [`${config}.topP`, 0.5],
      [`${config}.top_p`, 0.5],
      [`${config}.topK`, 5],
      [`${config}.seed`, 1],
      [`${config}.maxOutputTokens`, 50],
      [`${config}.max_output_tokens`, 50],
      [`${config}.candidateCount`, 1],
      [`${config}.stopSequences`, ['END']],
      [`${config}.stop_sequences`, ['END']],
      [`${config}.presencePenalty`, 0.1],
      [`${config}.frequencyPenalty`, 0.1],
      [`${config}.responseMimeType`, 'application/json'],
      [`${config}.responseSchema`, { type: 'OBJECT' }],
      [`${config}.responseJsonSchema`, { type: 'object' }],
      [`${config}.thinkingConfig`, { thinkingLevel: 'low' }],
      [`${config}.thinkingConfig.thinkingLevel`, 'low'],
    ]),
  ),
};

/** The contents of a first turn that are refused, and the field that the refusal names. */
const CONTENTS: readonly (readonly [DialectName, JsonObject, string])[] = [
  ['chat', { messages: [{ role: 'user', content: [{ type: 'text' }] }] }, 'messages.0.content.0'],
  ['responses', { input: [{ role: 'user', content: [{ type: 'input_text' }] }] }, 'input.0.content.0.text'],
  ['responses', { input: [{ role: 'user', content: [{ type: 'text', text: null }] }] }, 'input.0.content.0.text'],
  ['responses', { input: [{ role: 'system', content: [{ type: 'input_text', text: 5 }] }] }, 'input.0.content.0.text'],
  ['responses', { input: [{ role: 'user', content: [{ type: 'input_image' }] }] }, 'input.0.content.0'],
  ['responses', { input: [{ role: 'user', content: [{ type: 'input_file' }] }] }, 'input.0.content.0'],
  ['responses', { input: [{ role: 'user', content: [{ type: 'input_smell' }] }] }, 'input.0.content.0'],
  ['responses', { input: [{ role: 'user', content: ['Hello.'] }] }, 'input.0.content.0'],
  ['responses', { input: [{ role: 'user' }] }, 'input.0.content'],
  ['messages', { messages: [{ role: 'user', content: [{ type: 'text' }] }] }, 'messages.0.content.0.text'],
  ['messages', { messages: [{ role: 'user', content: [{ type: 'image' }] }] }, 'messages.0.content.0.source'],
  [
    'messages',
    { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'base64' } }] }] },
    'messages.0.content.0.source.data',
  ],
  ['messages', { messages: [{ role: 'user', content: [{ type: 'smell' }] }] }, 'messages.0.content.0'],
  ['messages', { system: [{ type: 'text' }], messages: HELLO }, 'system.0.text'],
  ['messages', { system: 5, messages: HELLO }, 'system'],
  ['gemini', { contents: [{ role: 'user', parts: [{}] }] }, 'contents.0.parts.0'],
  ['gemini', { contents: [{ role: 'user', parts: [{ text: 5 }] }] }, 'contents.0.parts.0.text'],
  ['gemini', { contents: [{ parts: [{ inlineData: { mimeType: 'image/png' } }] }] }, 'contents.0.parts.0.inlineData'],
  ['gemini', { contents: [{ role: 'user' }] }, 'contents.0.parts'],
  ['gemini', { ...PROTOCOLS.gemini.body, systemInstruction: { parts: [{}] } }, 'systemInstruction.parts.0'],
  ['gemini', { ...PROTOCOLS.gemini.body, system_instruction: 5 }, 'system_instruction'],
];

const shared = sharedServer();
const ask = async (name: DialectName, body: JsonObject) => {
  const server = await shared.server();
  return { server, reply: await server.post(PROTOCOLS[name].path, body) };
};

/** A body with a value at a path. */
function withValue(body: JsonObject, path: string, value: unknown): JsonObject {
  const [name = '', ...rest] = path.split('.');
  const inner = body[name];
  const given = rest.length === 0 ? value : withValue((inner ?? {}) as JsonObject, rest.join('.'), value);
  return { ...body, [name]: given as JsonObject };
}

const rows = Object.entries(SETTINGS).flatMap(([name, settings]) =>
  Object.entries(settings).map(([path, right]) => [name as DialectName, path, right] as const),
);

describe('a setting of a wrong type is refused with its name, and starts nothing:', () => {
  it.each(rows)('%s: %s', async (name, path, right) => {
    const { paramOf: read, body } = PROTOCOLS[name];
    const { server, reply } = await ask(name, { ...withValue(body, path, wrongFor(right)), ...counting(1) });
    expect([reply.status, read(reply.json)]).toEqual([400, path]);
    expect(reply.text).toMatch(/has to be/);
    await expectUntouched(server);
  });

  it.each([
    ['responses', 'text.format.schema', { text: { format: { type: 'json_schema' } } }],
    ['messages', 'output_config.format.schema', { output_config: { format: { type: 'json_schema' } } }],
    ['messages', 'stop_sequences.0', { stop_sequences: [5] }],
    ['chat', 'stop', { stop: 5 }],
    ['chat', 'models.0', { models: [5] }],
    ['chat', 'stop_token_ids.0', { stop_token_ids: ['a'] }],
  ] as const)('%s: %s, of %j', async (name, path, fields) => {
    const { server, reply } = await ask(name, { ...PROTOCOLS[name].body, ...fields, ...counting(1) } as JsonObject);
    expect([reply.status, PROTOCOLS[name].paramOf(reply.json)]).toEqual([400, path]);
    await expectUntouched(server);
  });
});

describe('contents of the caller that cannot be read are refused with their place, and start nothing:', () => {
  it.each(CONTENTS)('%s: %j', async (name, body, param) => {
    const { server, reply } = await ask(name, { ...body, ...counting(1) });
    expect([reply.status, PROTOCOLS[name].paramOf(reply.json)]).toEqual([400, param]);
    await expectUntouched(server);
  });
});

describe('settings of the right type, and null in place of one, pass:', () => {
  it.each(rows)('%s: %s', async (name, path, right) => {
    const { body } = PROTOCOLS[name];
    for (const value of path === 'max_tokens' ? [right] : [right, null]) {
      // Without a scenario the request is refused at the next step.
      const { reply } = await ask(name, withValue(body, path, value));
      expect([reply.status, PROTOCOLS[name].paramOf(reply.json)]).toEqual([400, 'scenario']);
    }
  });
});

describe('where a key is set,', () => {
  const { server: withKey } = sharedServer(guardedByKey('k3y'));

  it.each([
    ['/v1/messages', { 'x-api-key': 'k3y', authorization: 'Bearer nope' }],
    ['/v1/messages', { 'x-api-key': 'nope', authorization: 'Bearer k3y' }],
    [GEMINI, { 'x-goog-api-key': 'k3y', authorization: 'Bearer nope' }],
    [`${GEMINI}?key=k3y`, { authorization: 'Bearer nope' }],
    [`${GEMINI}?key=k3y`, { 'x-goog-api-key': 'nope' }],
    ['/v1/messages', { 'x-api-key': 'k3y', authorization: 'Basic k3y' }],
  ])('two different ones are refused, and which one is right is not said: %s with %j', async (path, headers) => {
    const server = await withKey();
    const reply = await send(server.url, path, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body: '{}' });
    expect([reply.status, reply.text]).toEqual([401, expect.stringMatching(/different keys.*send one/s)]);
  });

  it.each([
    ['/v1/messages', { 'x-api-key': 'k3y', authorization: 'Bearer k3y' }],
    [`${GEMINI}?key=k3y`, { 'x-goog-api-key': 'k3y', authorization: 'bearer k3y' }],
    ['/v1/messages', { 'x-api-key': '', authorization: 'Bearer k3y' }],
  ])('the same key twice is one key: %s with %j', async (path, headers) => {
    const server = await withKey();
    const reply = await send(server.url, path, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body: '{}' });
    expect(reply.status).toBe(400);
  });
});
