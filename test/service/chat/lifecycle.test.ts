import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { TranscriptMessage } from '../../../src/contract/chat.ts';
import { errorBodySchema } from '../../../src/contract/error-shapes.ts';
import { lifecycleResultSchema, lifecycleToolListSchema, turnAnswerSchema } from '../../../src/contract/lifecycle.ts';
import { finishResultSchema } from '../../../src/contract/session.ts';
import { calls, json, says } from '../../gateway.ts';
import { type Reply, send } from '../../support/http/http-server.ts';
import { until } from '../../until.ts';
import { createStage } from './fixtures/stage.ts';
import { counting, errorOf, serve, sessionsOf, type TestServer } from './server.ts';

const ADDRESSES = ['/v1/lifecycle-tools', '/mcp/tools'] as const;

const call = (server: TestServer, name: string, args?: unknown, path: string = ADDRESSES[0]) =>
  server.post(`${path}/call`, { name, ...(args === undefined ? {} : { arguments: args }) });

const resultOf = ({ json: body }: Reply) => lifecycleResultSchema.parse(body);
const answerOf = (reply: Reply) => turnAnswerSchema.parse(resultOf(reply).structuredContent);
function messagesOf(server: TestServer, request: number) {
  const messages = server.gateway.requests[request]?.body.messages as TranscriptMessage[] | undefined;
  return messages?.map(({ role, content }) => [role, content]);
}

/** Code and field of a failure that is a result; everything else that the contract says of one is checked here. */
function failureOf(reply: Reply): readonly [string, string | null] {
  expect(reply.status).toBe(200);
  const { content, structuredContent, isError } = resultOf(reply);
  const { error } = errorBodySchema.strict().parse(structuredContent);
  expect([isError, content]).toEqual([true, [{ type: 'text', text: error.message }]]);
  return [error.code, error.param];
}

const BAD_ENVELOPES: readonly (readonly [string, readonly [number, string, string | null]])[] = [
  ['{"name"', [400, 'invalid_json', null]],
  ['', [400, 'invalid_json', null]],
  ['["scenario_list"]', [400, 'invalid_parameter', null]],
  ['{"arguments":{}}', [400, 'missing_required_parameter', 'name']],
  ['{"name":7}', [400, 'invalid_parameter', 'name']],
  ['{"name":"scenario_list","arguments":[]}', [400, 'invalid_parameter', 'arguments']],
  ['{"name":"scenario_list","arguments":"{}"}', [400, 'invalid_parameter', 'arguments']],
  ['{"name":"scenario_list","arguments":null}', [400, 'invalid_parameter', 'arguments']],
  ['{"name":"setup","arguments":{}}', [404, 'tool_not_found', 'name']],
];

describe.each(ADDRESSES)('the lifecycle tools at %s', (path) => {
  it('are four, with their schemas under both spellings', async () => {
    const server = await serve();
    const { tools } = lifecycleToolListSchema.parse((await server.get(path)).json);
    const shown = tools.map(({ name, inputSchema, input_schema, ...rest }) => {
      expect(input_schema).toEqual(inputSchema);
      expect(Object.keys(rest)).toEqual(['description']);
      const { type, properties, required = [], additionalProperties } = inputSchema;
      expect([type, additionalProperties]).toEqual(['object', false]);
      return [name, Object.keys(properties as object), required];
    });
    const ids = ['session_id', 'thread_id', 'conversation_id'];
    expect(shown).toEqual([
      ['scenario_list', [], []],
      ['scenario_start', ['scenario', 'scenario_args', 'message', 'model', 'max_steps'], ['scenario', 'scenario_args']],
      ['scenario_send', [...ids, 'message'], ['message']],
      ['scenario_finish', [...ids, 'answer'], []],
    ]);
  });

  it('list the scenarios as GET /scenarios does', async () => {
    const server = await serve();
    const { content, structuredContent, isError } = resultOf(await call(server, 'scenario_list', {}, path));
    expect(structuredContent).toEqual((await server.get('/scenarios')).json);
    expect([JSON.parse(content[0]?.text ?? ''), isError]).toEqual([structuredContent, false]);
  });

  it('hold a session from its start to its reward', async () => {
    const server = await serve({
      plays: [calls(['increment', { by: 2 }]), says('At 2.'), calls(['increment', {}], ['read', {}]), says('At 3.')],
    });
    const first = await call(server, 'scenario_start', { ...counting(3), message: 'Go.' }, path);
    const started = answerOf(first);
    expect(started).toMatchObject({
      answer: 'At 2.',
      tool_calls: [{ id: expect.stringMatching(/^call_/), name: 'increment', arguments: { by: 2 } }],
      svc: { scenario: 'count_to', status: 'active', steps: 2 },
    });
    expect(JSON.parse(resultOf(first).content[0]?.text ?? '')).toEqual(started);

    const { session_id, trace_id } = started.svc;
    const next = answerOf(await call(server, 'scenario_send', { session_id, message: 'One more.' }, path));
    expect(next.tool_calls.map(({ name }) => name)).toEqual(['increment', 'read']);
    expect(next).toMatchObject({ answer: 'At 3.', svc: { session_id, trace_id, steps: 4 } });

    const finished = resultOf(await call(server, 'scenario_finish', { session_id }, path));
    expect(finishResultSchema.strict().parse(finished.structuredContent)).toMatchObject({
      session_id,
      trace_id,
      answer: 'At 3.',
      reward: 1,
      status: 'finished',
    });
    expect(finished.isError).toBe(false);
    const again = await server.post(`/v1/sessions/${session_id}/finish`);
    expect(again.json).toEqual(finished.structuredContent);
  });

  it('refuse a bad envelope as the request that it is', async () => {
    const server = await serve();
    const headers = { 'content-type': 'application/json' };
    const answered = [];
    for (const [body] of BAD_ENVELOPES) {
      answered.push([body, errorOf(await send(server.url, `${path}/call`, { method: 'POST', headers, body }))]);
    }
    expect(answered).toEqual(BAD_ENVELOPES);
  });
});

/** A tool, its arguments, and the code and the field that it is refused with. */
const FAULTS: readonly (readonly [string, object, string, string | null])[] = [
  ['scenario_list', { all: true }, 'invalid_parameter', 'all'],
  ['scenario_start', {}, 'missing_required_parameter', 'scenario'],
  ['scenario_start', { scenario: 'count_to' }, 'missing_required_parameter', 'scenario_args'],
  ['scenario_start', { ...counting(1), scenario_args: null }, 'invalid_parameter', 'scenario_args'],
  ['scenario_start', { ...counting(1), scenario_args: [] }, 'invalid_parameter', 'scenario_args'],
  ['scenario_start', { ...counting(1), scenario: 7 }, 'invalid_parameter', 'scenario'],
  ['scenario_start', { ...counting(1), scenario: 'nope' }, 'scenario_not_found', 'scenario'],
  [
    'scenario_start',
    { ...counting(1), scenario_args: { target: 'x' } },
    'invalid_scenario_args',
    'scenario_args.target',
  ],
  [
    'scenario_start',
    { ...counting(1), scenario_args: { target: 1, to: 2 } },
    'invalid_scenario_args',
    'scenario_args.to',
  ],
  [
    'scenario_start',
    { ...counting(1), scenario_args: JSON.parse('{"target":1,"__proto__":{}}') },
    'invalid_scenario_args',
    'scenario_args.__proto__',
  ],
  ['scenario_start', { ...counting(1), ...JSON.parse('{"__proto__":{}}') }, 'invalid_parameter', '__proto__'],
  ['scenario_start', { ...counting(1), constructor: {} }, 'invalid_parameter', 'constructor'],
  [
    'scenario_finish',
    { session_id: 'sess_nope', answer: JSON.parse('{"__proto__":1}') },
    'invalid_parameter',
    'answer.__proto__',
  ],
  ['scenario_start', { ...counting(1), max_steps: 0 }, 'invalid_parameter', 'max_steps'],
  ['scenario_start', { ...counting(1), max_steps: 501 }, 'invalid_parameter', 'max_steps'],
  ['scenario_start', { ...counting(1), max_steps: 1.5 }, 'invalid_parameter', 'max_steps'],
  ['scenario_start', { ...counting(1), message: ['Go.'] }, 'invalid_parameter', 'message'],
  ['scenario_start', { ...counting(1), message: '' }, 'invalid_parameter', 'message'],
  ['scenario_start', { ...counting(1), model: 'proctor/nobody' }, 'model_not_found', 'model'],
  ['scenario_start', { ...counting(1), tools: [] }, 'invalid_parameter', 'tools'],
  ['scenario_send', { message: 'Go.' }, 'missing_required_parameter', 'session_id'],
  ['scenario_send', { session_id: 'sess_nope' }, 'missing_required_parameter', 'message'],
  ['scenario_send', { session_id: '', message: 'Go.' }, 'invalid_parameter', 'session_id'],
  ['scenario_send', { session_id: 'sess_nope', message: 'Go.' }, 'session_not_found', null],
  ['scenario_send', { session_id: 'a', thread_id: 'b', message: 'Go.' }, 'invalid_parameter', 'session_id'],
  ['scenario_send', { session: 'sess_nope', message: 'Go.' }, 'invalid_parameter', 'session'],
  ['scenario_finish', {}, 'missing_required_parameter', 'session_id'],
  ['scenario_finish', { conversation_id: 'sess_nope' }, 'session_not_found', null],
  ['scenario_finish', { session_id: 'sess_nope', reward: 1 }, 'invalid_parameter', 'reward'],
];

describe('a call of a lifecycle tool', () => {
  it('takes no arguments for none, and ignores what else its envelope holds', async () => {
    const server = await serve();
    expect(resultOf(await call(server, 'scenario_list')).isError).toBe(false);
    const more = { name: 'scenario_list', id: 'call_1', _meta: {} };
    expect(resultOf(await server.post('/mcp/tools/call', more)).isError).toBe(false);
  });

  it('lists the tools that there are in place of an unknown one', async () => {
    const reply = await call(await serve(), 'scenario_begin');
    expect(reply.text).toContain('There are scenario_list, scenario_start, scenario_send, scenario_finish.');
  });

  it('is answered with what is wrong in its arguments, and starts nothing', async () => {
    const server = await serve();
    const answered = [];
    for (const [name, args] of FAULTS) answered.push([name, args, ...failureOf(await call(server, name, args))]);
    expect(answered).toEqual(FAULTS);
    expect(server.gateway.requests).toEqual([]);
    expect(sessionsOf(await server.get('/v1/sessions?status=all'))).toEqual([]);
  });

  it('is answered with what the gateway or the environment failed with, and the log has it', async () => {
    const lines = new PassThrough();
    const server = await serve({ plays: [json(500, {})], logger: pino(lines) });
    expect(failureOf(await call(server, 'scenario_start', counting(1)))).toEqual(['model_failed', null]);
    const broken = await call(server, 'scenario_start', { scenario: 'broken_setup', scenario_args: {} });
    expect(failureOf(broken)).toEqual(['environment_failed', null]);
    const logged = String(lines.read())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(logged).toContainEqual(
      expect.objectContaining({ requestId: broken.headers['x-request-id'], code: 'environment_failed' }),
    );
    const all = sessionsOf(await server.get('/v1/sessions?status=all'));
    expect(all.map(({ status }) => status)).toEqual(['failed', 'failed']);
  });

  it('starts a first turn on the prompt of the scenario alone where it has no message', async () => {
    const server = await serve();
    await call(server, 'scenario_start', counting(3));
    await call(server, 'scenario_start', { ...counting(3), message: 'Be quick.' });
    const prompt = ['user', expect.stringContaining('exactly 3')];
    expect([messagesOf(server, 0), messagesOf(server, 1)]).toEqual([[prompt], [prompt, ['user', 'Be quick.']]]);
  });

  it('starts a session with its model and max_steps', async () => {
    const server = await serve({ plays: [calls(['increment', {}])] });
    const args = { ...counting(2), model: 'other-model', max_steps: 2 };
    const { answer, tool_calls, svc } = answerOf(await call(server, 'scenario_start', args));
    expect([answer, tool_calls.length, svc.steps]).toEqual(['', 2, 2]);
    expect(server.gateway.requests.map(({ body }) => body.model)).toEqual(['other-model', 'other-model']);
  });

  it('takes a null scalar for none', async () => {
    const server = await serve();
    const args = { ...counting(0), message: null, model: null, max_steps: null };
    const { svc } = answerOf(await call(server, 'scenario_start', args));
    const finish = { session_id: svc.session_id, thread_id: null, answer: null };
    expect(resultOf(await call(server, 'scenario_finish', finish)).structuredContent).toMatchObject({
      answer: 'Done.',
      reward: 1,
    });
  });

  it.each(['session_id', 'thread_id', 'conversation_id'])('names its session by %s', async (field) => {
    const server = await serve();
    const { svc } = answerOf(await call(server, 'scenario_start', counting(0)));
    const id = { [field]: svc.session_id };
    expect(answerOf(await call(server, 'scenario_send', { ...id, message: 'More.' })).svc.session_id).toBe(
      svc.session_id,
    );
    const finished = resultOf(await call(server, 'scenario_finish', { ...id, answer: { said: 'this' } }));
    expect(finished.structuredContent).toMatchObject({ answer: { said: 'this' }, session_id: svc.session_id });
    const late = await call(server, 'scenario_send', { ...id, message: 'More.' });
    expect(failureOf(late)).toEqual(['session_finished', null]);
  });

  it('finds a session busy while its turn goes on', async () => {
    const stage = createStage();
    const server = await serve({
      environments: new Map([['stage', stage.target]]),
      plays: [says('Ready.'), calls(['wait', {}]), says('Done.')],
    });
    const { svc } = answerOf(await call(server, 'scenario_start', { scenario: 'play', scenario_args: {} }));
    const { session_id } = svc;
    const held = stage.hold('tool');
    const running = call(server, 'scenario_send', { session_id, message: 'Wait.' });
    await held.reached;
    const second = await call(server, 'scenario_send', { session_id, message: 'Now.' });
    expect(failureOf(second)).toEqual(['session_busy', null]);
    expect(failureOf(await call(server, 'scenario_finish', { session_id }))).toEqual(['session_busy', null]);
    held.open();
    expect(answerOf(await running).tool_calls).toHaveLength(1);
  });

  it('is given up when its turn takes too long', async () => {
    const server = await serve({ plays: [() => {}], turnLimits: { limitMs: { plain: 50, streamed: 60_000 } } });
    expect(failureOf(await call(server, 'scenario_start', counting(1)))).toEqual(['turn_timeout', null]);
  });

  it('aborts its turn when its client goes away, and the session is free', async () => {
    const stage = createStage();
    const server = await serve({
      environments: new Map([['stage', stage.target]]),
      plays: [says('Ready.'), calls(['wait', {}]), says('Back.')],
    });
    const { svc } = answerOf(await call(server, 'scenario_start', { scenario: 'play', scenario_args: {} }));
    const held = stage.hold('tool');
    const client = new AbortController();
    const lost = fetch(`${server.url}/v1/lifecycle-tools/call`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        name: 'scenario_send',
        arguments: { session_id: svc.session_id, message: 'Wait.' },
      }),
      signal: client.signal,
    });
    const rejection = expect(lost).rejects.toThrow();
    await held.reached;
    client.abort();
    await rejection;
    await held.aborted;
    const next = await until(async () => {
      const reply = await call(server, 'scenario_send', { session_id: svc.session_id, message: 'Go on.' });
      return !reply.text.includes('session_busy') && reply;
    });
    expect(answerOf(next)).toMatchObject({ answer: 'Back.', svc: { steps: 3 } });
  });

  it('needs the key of the server', async () => {
    const server = await serve({
      verifyKey: async (key) =>
        key === 'right' ? { account: 'local', keyId: null, requestsPerMinute: null } : undefined,
    });
    for (const path of ADDRESSES) {
      expect(errorOf(await server.get(path))).toEqual([401, 'invalid_api_key', null]);
      const refused = await server.post(`${path}/call`, { name: 'nope' }, { authorization: 'Bearer wrong' });
      expect(errorOf(refused)).toEqual([401, 'invalid_api_key', null]);
      const taken = await server.post(`${path}/call`, { name: 'scenario_list' }, { authorization: 'Bearer right' });
      expect(taken.status).toBe(200);
    }
  });
});
