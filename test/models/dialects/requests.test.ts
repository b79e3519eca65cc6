import { describe, expect, it } from 'vitest';
import { ApiError, ERRORS, type ErrorCode } from '../../../src/contract/errors.ts';
import type { JsonObject } from '../../../src/contract/json.ts';
import { DIALECT_NAMES, type DialectName, toDialectError } from '../../../src/models/dialects/dialect.ts';
import { DIALECTS } from '../../../src/models/dialects/dialects.ts';
import { findOperation } from '../../../src/models/dialects/operations.ts';
import { signReasoning } from '../../../src/models/dialects/reasoning-signature.ts';
import { call, output } from './outputs.ts';

const HEAD = { id: 'step1', createdAt: 0, model: 'exam-model' };

const INPUTS: Readonly<Record<DialectName, JsonObject>> = {
  chat: { messages: [{ role: 'user', content: 'Go' }] },
  responses: { input: 'Go' },
  messages: { messages: [{ role: 'user', content: 'Go' }] },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Go' }] }] },
};

function read(name: DialectName, body: JsonObject) {
  return DIALECTS[name].readRequest({ body: { ...INPUTS[name], ...body } });
}

const kinds = (name: DialectName, body: JsonObject) =>
  read(name, body).providerTools.map(({ kind, type }) => kind ?? `unknown ${type}`);

describe('tools of a provider are named by kind', () => {
  it('in chat completions', () => {
    expect(kinds('chat', { tools: [{ type: 'web_search_preview' }], web_search_options: {} })).toEqual(['web_search']);
    const file = { role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] };
    expect(kinds('chat', { messages: [file] })).toEqual(['files']);
  });

  it('in Responses, where a shell of the agent is none and one in a container is', () => {
    const tools = [
      { type: 'web_search_preview_2025_03_11' },
      { type: 'file_search', vector_store_ids: [] },
      { type: 'code_interpreter', container: { type: 'auto' } },
      { type: 'computer_use_preview' },
      { type: 'image_generation' },
      { type: 'mcp', server_label: 'x' },
      { type: 'local_shell' },
      { type: 'apply_patch' },
      { type: 'shell', environment: { type: 'local' } },
      { type: 'tool_search' },
      { type: 'brand_new' },
    ];
    expect(kinds('responses', { tools })).toEqual([
      'web_search',
      'file_search',
      'code_execution',
      'computer',
      'image_generation',
      'mcp',
      'unknown brand_new',
    ]);
    expect(read('responses', { tools }).tools.map(({ name, form }) => `${form} ${name}`)).toEqual([
      'typed local_shell',
      'typed apply_patch',
      'typed shell',
    ]);
    expect(kinds('responses', { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] })).toEqual([
      'code_execution',
    ]);
    const parts = [
      { type: 'input_file', file_id: 'file-1' },
      { type: 'input_file', file_url: 'https://example.com/a.pdf' },
      { type: 'input_image', file_id: 'file-2' },
    ];
    expect(kinds('responses', { input: [{ role: 'user', content: parts }] })).toEqual(['files', 'web_fetch']);
  });

  it('in Messages, where typed tools that the agent runs are none', () => {
    const tools = [
      { type: 'web_search_20250305', name: 'web_search' },
      { type: 'web_fetch_20250910', name: 'web_fetch' },
      { type: 'code_execution_20250825', name: 'code_execution' },
      { type: 'mcp_toolset', mcp_server_name: 'x' },
      { type: 'advisor_20260101', name: 'advisor' },
      { type: 'bash_20250124', name: 'bash' },
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
      { type: 'computer_20250124', name: 'computer' },
      { type: 'memory_20250818', name: 'memory' },
      { type: 'custom', name: 'add', input_schema: { type: 'object' } },
    ];
    const body = { tools, mcp_servers: [{ type: 'url', url: 'https://example.com' }] };
    expect(kinds('messages', body)).toEqual([
      'web_search',
      'web_fetch',
      'code_execution',
      'mcp',
      'unknown advisor_20260101',
    ]);
    const { tools: offered } = read('messages', body);
    expect(offered.map(({ own_name, form }) => `${form} ${own_name}`)).toEqual([
      'typed bash',
      'typed str_replace_based_edit_tool',
      'typed computer',
      'typed memory',
      'function add',
    ]);
    expect(offered[0]?.input_schema).toMatchObject({ properties: { command: { type: 'string' } } });
    const blocks = [
      { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
      { type: 'image', source: { type: 'file', file_id: 'file-1' } },
    ];
    expect(kinds('messages', { messages: [{ role: 'user', content: blocks }] })).toEqual(['web_fetch', 'files']);
  });

  it('in Gemini', () => {
    const tools = [
      { googleSearch: {} },
      { url_context: {} },
      { codeExecution: {} },
      { computerUse: {} },
      { fileSearch: {} },
      { googleMaps: {} },
    ];
    expect(kinds('gemini', { tools })).toEqual([
      'web_search',
      'web_fetch',
      'code_execution',
      'computer',
      'file_search',
      'unknown googleMaps',
    ]);
    const kept = {
      fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/1', mimeType: 'image/png' },
    };
    expect(kinds('gemini', { contents: [{ parts: [kept] }] })).toEqual(['files']);
  });
});

describe('images', () => {
  const DATA = 'data:image/png;base64,AAAA';
  const URL = 'https://example.com/a.png';
  const given: readonly [DialectName, JsonObject][] = [
    [
      'chat',
      { messages: [{ role: 'user', content: [DATA, URL].map((url) => ({ type: 'image_url', image_url: { url } })) }] },
    ],
    [
      'responses',
      { input: [{ role: 'user', content: [DATA, URL].map((image_url) => ({ type: 'input_image', image_url })) }] },
    ],
    [
      'messages',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
              { type: 'image', source: { type: 'url', url: URL } },
            ],
          },
        ],
      },
    ],
    [
      'gemini',
      {
        contents: [
          {
            parts: [
              { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
              { fileData: { fileUri: URL, mimeType: 'image/png' } },
            ],
          },
        ],
      },
    ],
  ];

  it.each(given)('of %s go on by their bytes; an address is named and not fetched', (name, body) => {
    const { messages, remoteImages, providerTools } = read(name, body);
    const content = [
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'text', text: `(image at ${URL})` },
    ];
    expect(messages).toEqual([{ role: 'user', content }]);
    expect(remoteImages).toEqual([URL]);
    expect(providerTools).toEqual([]);
  });
});

describe('names of tools', () => {
  const tool = (name: string) => ({ type: 'function', name, parameters: { type: 'object' } });
  const long = 'a'.repeat(70);
  const tools = [
    tool('add'),
    {
      type: 'namespace',
      name: 'mcp__env',
      tools: [tool('add'), tool('mcp__env__add'), { type: 'custom', name: 'note' }],
    },
    tool('mcp__env__add'),
    tool('ätsch.tool'),
    tool(long),
  ];

  it('are unique, and such as gateways take; a call has its own name and namespace again', () => {
    const request = read('responses', { tools });
    const names = request.tools.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toHaveLength(7);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(names.slice(0, 2)).toEqual(['add', 'mcp__env__add']);
    const made = output({ calls: request.tools.map(({ name }, index) => call(`c${index}`, name, { input: 'x' })) });
    const body = DIALECTS.responses.writeResponse(request, made, HEAD);
    expect(body.output).toMatchObject([
      { type: 'function_call', name: 'add' },
      { name: 'add', namespace: 'mcp__env' },
      { name: 'mcp__env__add', namespace: 'mcp__env' },
      { type: 'custom_tool_call', name: 'note', namespace: 'mcp__env', input: 'x' },
      { name: 'mcp__env__add' },
      { name: 'ätsch.tool' },
      { name: long },
    ]);
    expect((body.output as JsonObject[])[0]).not.toHaveProperty('namespace');
  });

  it('of tools that came in the input count as those that came beside it', () => {
    const input = [
      { type: 'additional_tools', role: 'developer', tools: [tool('late')] },
      { role: 'user', content: 'Go' },
    ];
    expect(read('responses', { input, tools: [tool('early')] }).tools.map(({ name }) => name)).toEqual([
      'early',
      'late',
    ]);
  });

  it('that a model has made up go to the agent as they are', () => {
    const request = read('messages', {});
    const body = DIALECTS.messages.writeResponse(request, output({ calls: [call('c', 'made-up', {})] }), HEAD);
    expect(body.content).toMatchObject([{ name: 'made-up' }]);
  });
});

describe('reasoning', () => {
  it('is signed in each dialect that has a place for it, the same for the same text', () => {
    const made = output({ reasoning: 'Hm', calls: [call('c1', 'add', {}), call('c2', 'add', {})] });
    const write = (name: DialectName) => DIALECTS[name].writeResponse(read(name, {}), made, HEAD);
    const signature = signReasoning('Hm');
    expect(signature).toMatch(/^proctor:[0-9a-f]{32}$/);
    expect(write('responses').output).toMatchObject([{ type: 'reasoning', encrypted_content: signature }, {}, {}]);
    expect(write('messages').content).toMatchObject([{ type: 'thinking', signature }, {}, {}]);
    const thoughtSignature = Buffer.from(signature).toString('base64');
    expect(write('gemini').candidates).toMatchObject([
      { content: { parts: [{ thought: true, text: 'Hm' }, { thoughtSignature }, {}] } },
    ]);
  });
});

describe('settings', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  const format = { type: 'json_schema', json_schema: { name: 'answer', schema } };
  const given: readonly [DialectName, JsonObject][] = [
    [
      'chat',
      {
        max_completion_tokens: 5,
        stop: ['x'],
        temperature: 1,
        response_format: format,
        reasoning_effort: 'low',
        tool_choice: { type: 'function', function: { name: 'add' } },
      },
    ],
    [
      'messages',
      {
        max_tokens: 5,
        stop_sequences: ['x'],
        temperature: 1,
        output_config: { effort: 'low', format: { type: 'json_schema', schema } },
        tool_choice: { type: 'tool', name: 'add' },
      },
    ],
    [
      'gemini',
      {
        generationConfig: {
          maxOutputTokens: 5,
          stopSequences: ['x'],
          temperature: 1,
          responseMimeType: 'application/json',
          responseSchema: { type: 'OBJECT', properties: { a: { type: 'STRING' } } },
          thinkingConfig: { thinkingLevel: 'LOW' },
        },
        toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['add'] } },
      },
    ],
  ];

  it.each(given)('of %s pass in one form, and temperature does not', (name, body) => {
    expect(read(name, body).settings).toEqual({
      max_tokens: 5,
      stop: ['x'],
      response_format: format,
      reasoning_effort: 'low',
      tool_choice: { type: 'function', function: { name: 'add' } },
    });
  });

  it('of Responses pass in the same form', () => {
    const text = { format: { type: 'json_schema', name: 'out', strict: true, schema } };
    const body = {
      max_output_tokens: 5,
      text,
      reasoning: { effort: 'low' },
      tool_choice: 'required',
      parallel_tool_calls: false,
    };
    expect(read('responses', body).settings).toEqual({
      max_tokens: 5,
      response_format: { type: 'json_schema', json_schema: { name: 'out', strict: true, schema } },
      reasoning_effort: 'low',
      tool_choice: 'required',
      parallel_tool_calls: false,
    });
  });

  it('"any" of Messages and "ANY" of Gemini mean that some tool has to be called', () => {
    expect(read('messages', { tool_choice: { type: 'any', disable_parallel_tool_use: true } }).settings).toEqual({
      tool_choice: 'required',
      parallel_tool_calls: false,
    });
    const toolConfig = { functionCallingConfig: { mode: 'ANY' } };
    expect(read('gemini', { toolConfig }).settings).toEqual({ tool_choice: 'required' });
  });
});

describe('a request is refused', () => {
  it.each<[DialectName, JsonObject, string]>([
    ['chat', { n: 2 }, 'n'],
    ['gemini', { generationConfig: { candidateCount: 2 } }, 'generationConfig.candidateCount'],
    ['gemini', { cachedContent: 'cachedContents/1' }, 'cachedContent'],
    ['responses', { previous_response_id: 'resp_1' }, 'previous_response_id'],
    ['responses', { conversation: 'conv_1' }, 'conversation'],
    ['responses', { background: true }, 'background'],
    ['chat', { messages: 'Go' }, 'messages'],
    ['chat', { messages: [{ role: 'judge', content: '' }] }, 'messages[0].role'],
    ['chat', { stream: 'yes' }, 'stream'],
    ['messages', { messages: [{ role: 'user' }] }, 'messages[0].content'],
    ['messages', { tools: [{ input_schema: {} }] }, 'tools[0].name'],
    ['responses', { input: [7] }, 'input[0]'],
    ['gemini', { contents: [{ parts: 'x' }] }, 'parts'],
  ])('in %s for %j', (name, body, param) => {
    const refuse = () => read(name, body);
    expect(refuse).toThrow(ApiError);
    expect(refuse).toThrow(expect.objectContaining({ code: 'invalid_parameter', param, status: 400 }));
  });

  it.each(DIALECT_NAMES)('in %s without its list, or where the body is no object', (name) => {
    const refuse = (body: unknown) => () => DIALECTS[name].readRequest({ body });
    expect(refuse({})).toThrow(expect.objectContaining({ code: 'missing_required_parameter' }));
    expect(refuse([])).toThrow(expect.objectContaining({ code: 'invalid_parameter' }));
  });

  it('never for kinds of items, parts and blocks that are not known', () => {
    const item = { type: 'agent_message', content: 7 };
    expect(
      read('responses', { input: [item, { type: 'tool_search_call' }, { role: 'user', content: [item] }] }).messages,
    ).toEqual([{ role: 'user', content: [] }]);
    expect(read('messages', { messages: [{ role: 'assistant', content: [item] }] }).messages).toEqual([]);
    expect(read('gemini', { contents: [{ role: 'model', parts: [{ executableCode: {} }] }] }).messages).toEqual([]);
    expect(read('chat', { messages: [{ role: 'user', content: [item] }] }).messages).toHaveLength(1);
  });
});

describe('a result without its call', () => {
  it('is text of the user, since gateways refuse it otherwise', () => {
    const input = [{ type: 'function_call_output', call_id: 'gone', output: '3' }];
    expect(read('responses', { input }).messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Result of the call gone:' },
          { type: 'text', text: '3' },
        ],
      },
    ]);
  });

  it('with its call goes directly after it, whatever the agent has put between', () => {
    const input = [
      { type: 'function_call', call_id: 'c1', name: 'add', arguments: '{}' },
      { type: 'function_call', call_id: 'c2', name: 'add', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c2', output: '2' },
      { role: 'developer', content: 'Hurry.' },
      { type: 'function_call_output', call_id: 'c1', output: '1' },
    ];
    expect(read('responses', { input }).messages).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: 'c1' }, { id: 'c2' }] },
      { role: 'tool', tool_call_id: 'c2' },
      { role: 'tool', tool_call_id: 'c1' },
      { role: 'system', content: 'Hurry.' },
    ]);
  });

  it('of an id that came before belongs to the last call with it', () => {
    const calls = (text: string) => [
      { type: 'function_call', call_id: 'c', name: text, arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: text },
    ];
    const { messages } = read('responses', { input: [...calls('one'), ...calls('two')] });
    expect(
      messages.map((message) => (message.role === 'tool' ? `${message.name} ${message.tool_call_id}` : message.role)),
    ).toEqual(['assistant', 'one c', 'assistant', 'two c']);
  });
});

describe('errors', () => {
  it.each(DIALECT_NAMES)('of %s have a form for each of our codes, with its message and headers', (name) => {
    for (const code of Object.keys(ERRORS) as ErrorCode[]) {
      const error = new ApiError(code, 'Why it is so.', { headers: { 'retry-after': '3' } });
      const { status, headers, body } = DIALECTS[name].writeError(toDialectError(error));
      const known = code === 'run_finished' ? 400 : error.status;
      expect([code, status]).toEqual([code, name === 'messages' && known === 503 ? 529 : known]);
      expect(headers).toEqual({ 'retry-after': '3' });
      expect(body.error).toMatchObject({ message: 'Why it is so.' });
      expect(JSON.stringify(body)).toContain(code);
    }
  });

  it.each([
    ['chat', { error: { message: 'm', type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' } }],
    ['responses', { error: { message: 'm', type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' } }],
    ['messages', { type: 'error', error: { message: 'm', type: 'rate_limit_error' } }],
    ['gemini', { error: { code: 429, message: 'm', status: 'RESOURCE_EXHAUSTED' } }],
  ] as const)('of a limit have the words of %s', (name, body) => {
    expect(DIALECTS[name].writeError(toDialectError(new ApiError('rate_limit_exceeded', 'm'))).body).toMatchObject(
      body,
    );
  });
});

describe('paths', () => {
  const find = (method: string, path: string, headers: Record<string, string> = {}, query = '') =>
    findOperation(method, path, { headers, query: new URLSearchParams(query) });

  it.each([
    ['/v1/chat/completions', 'chat'],
    ['/chat/completions', 'chat'],
    ['/v1/v1/responses', 'responses'],
    ['/responses', 'responses'],
    ['/v1/messages', 'messages'],
    ['/v1beta/v1/messages', 'messages'],
  ])('%s is %s, however often a version is in it', (path, dialect) => {
    expect(find('POST', path)).toEqual({ kind: 'generate', dialect });
  });

  it.each(['/v1beta', '/v1', '/v1beta1', '/v1alpha', ''])(
    'of Gemini have their model and verb below "%s"',
    (version) => {
      const asked = (verb: string) => find('POST', `${version}/models/gemini-3:${verb}`);
      expect(asked('generateContent')).toMatchObject({ kind: 'generate', model: 'gemini-3', isStreamed: false });
      expect(asked('streamGenerateContent')).toMatchObject({ kind: 'generate', model: 'gemini-3', isStreamed: true });
      expect(asked('countTokens')).toMatchObject({ kind: 'count_tokens', dialect: 'gemini' });
      expect(asked('embedContent')).toBeUndefined();
    },
  );

  it('of the models are told apart by headers', () => {
    expect(find('GET', '/v1/models')).toEqual({ kind: 'list_models', dialect: 'chat' });
    expect(find('GET', '/v1/models', { 'x-goog-api-key': 'k', 'anthropic-version': '2' })).toMatchObject({
      dialect: 'gemini',
    });
    expect(find('GET', '/v1/models', {}, 'key=k')).toMatchObject({ dialect: 'gemini' });
    expect(find('GET', '/v1/models/a%2Fb', { 'anthropic-version': '2' })).toEqual({
      kind: 'get_model',
      dialect: 'messages',
      model: 'a/b',
    });
  });

  it('that are none are not found, and other methods neither', () => {
    for (const path of ['/v2/responses', '/v1/responses/x', '/v1', '/', '/messages/', '//messages']) {
      expect([path, find('POST', path)]).toEqual([path, undefined]);
    }
    expect(find('GET', '/v1/responses')).toBeUndefined();
    expect(find('POST', '/v1/models')).toBeUndefined();
  });
});

describe('a request that is relayed', () => {
  const OPTIONS = {
    model: 'real',
    sampling: { temperature: 0, max_tokens: 9, seed: 1 },
    apiKey: 'gateway-key',
    headers: {},
  };

  it.each<[DialectName, JsonObject, JsonObject]>([
    ['chat', { max_completion_tokens: 5, odd: 1 }, { odd: 1, temperature: 0, max_tokens: 9, seed: 1, model: 'real' }],
    ['responses', { max_output_tokens: 5, odd: 1 }, { odd: 1, temperature: 0, max_output_tokens: 9, model: 'real' }],
    ['messages', { max_tokens: 5, odd: 1 }, { odd: 1, temperature: 0, max_tokens: 9, model: 'real' }],
    [
      'gemini',
      { generationConfig: { maxOutputTokens: 5, topK: 2 } },
      { generationConfig: { topK: 2, maxOutputTokens: 9, temperature: 0, seed: 1 } },
    ],
  ])('in %s keeps what it holds, with the model and the sampling of the run', (name, body, expected) => {
    const relayed = DIALECTS[name].toRelayed(read(name, { model: 'asked', ...body }), OPTIONS);
    expect(relayed.body).toMatchObject({ ...INPUTS[name], ...expected });
    expect(relayed.body).not.toHaveProperty('max_completion_tokens');
    expect(JSON.stringify(relayed.headers)).toContain('gateway-key');
  });

  it('in Messages takes the versions of the agent along, and no key of it', () => {
    const headers = {
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'a,b',
      'x-api-key': 'agent-key',
      cookie: 'c',
    };
    expect(DIALECTS.messages.toRelayed(read('messages', {}), { ...OPTIONS, headers }).headers).toEqual({
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'a,b',
      'x-api-key': 'gateway-key',
    });
  });

  it('in Gemini names the model in the path', () => {
    expect(
      DIALECTS.gemini.toRelayed(DIALECTS.gemini.readRequest({ body: INPUTS.gemini, isStreamed: true }), OPTIONS).path,
    ).toBe('/models/real:streamGenerateContent?alt=sse');
  });
});
