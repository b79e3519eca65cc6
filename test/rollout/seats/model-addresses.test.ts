import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { says, startModels, whole } from '../../gateway.ts';
import { startService } from '../../service/runs/service.ts';
import { send } from '../../support/http/http-server.ts';
import { askModel } from './agent.ts';
import { openSeat, secretOf } from './seat.ts';

const HELLO = [{ role: 'user', content: 'Hello' }];
/** The same side call in the four protocols; the path, the body and where the text of the answer is. */
const DIALECTS = [
  ['/v1/chat/completions', { model: 'x', messages: HELLO }, 'chat'],
  ['/v1/responses', { model: 'x', input: HELLO }, 'responses'],
  ['/v1/messages', { model: 'x', max_tokens: 100, messages: HELLO }, 'messages'],
  ['/v1beta/models/x:generateContent', { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }, 'gemini'],
] as const;

async function startSeat(...plays: Parameters<typeof startModels>[0]) {
  const { models, gateway } = await startModels(plays.length === 0 ? [says('Hi there.')] : plays);
  const service = await startService({ models });
  return { service, gateway, seat: await openSeat(service, { model: 'gpt-test' }) };
}

describe.each(DIALECTS)('%s', (path, body, dialect) => {
  it('answers in its form, streamed and not, whatever name of a model the agent sends', async () => {
    const { seat, gateway, service } = await startSeat(whole({ content: 'Hi there.' }), says('Hi there.'));
    const plain = await askModel(seat, path, body);
    expect(plain).toMatchObject({ status: 200, text: expect.stringContaining('Hi there.') });
    expect(plain.headers['content-type']).toMatch(/^application\/json/);
    const [streamPath, streamBody] =
      dialect === 'gemini'
        ? [path.replace(':generateContent', ':streamGenerateContent?alt=sse'), body]
        : [path, { ...body, stream: true }];
    const streamed = await askModel(seat, streamPath, streamBody);
    expect(streamed).toMatchObject({ status: 200, text: expect.stringContaining('Hi there.') });
    expect(streamed.headers['content-type']).toMatch(/^text\/event-stream/);
    expect(gateway.requests.map((request) => request.body.model)).toEqual(['gpt-test', 'gpt-test']);
    const events = await service.store.events(seat.trace_id);
    expect(events.filter(({ type }) => type === 'model.requested')).toMatchObject([
      { input: { dialect } },
      { input: { dialect } },
    ]);
  });

  it('takes the secret wherever a client puts its key, and before the path; another one is a 401 in its form', async () => {
    const { seat } = await startSeat();
    const secret = secretOf(seat);
    const { authorization: _none, ...without } = { authorization: '' };
    const origin = new URL(seat.mcp.url).origin;
    const post = (at: string, headers: Record<string, string>) =>
      send(origin, at, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...without, ...headers },
        body: JSON.stringify({ ...body, metadata: { at } }),
      });
    const ways: [string, Record<string, string>][] = [
      [path, { authorization: `bearer ${secret}` }],
      [path, { 'x-api-key': secret }],
      [path, { 'x-goog-api-key': secret }],
      [path, { 'x-api-key': secret, authorization: 'Bearer sk-of-the-user' }],
      [`${path}?key=${secret}`, {}],
      [`/r/${secret}${path}`, { authorization: 'Bearer anything' }],
      [`/r/${secret}${path.replace(/^\/v1(beta)?/, '/v1$1/v1$1')}`, {}],
      [`/r/${secret}${path.replace(/^\/v1(beta)?/, '')}`, {}],
    ];
    for (const [at, headers] of ways) expect([at, (await post(at, headers)).status]).toEqual([at, 200]);
    for (const key of ['', 'Bearer seat_00000000000000000000000000000000', 'Bearer sk-other']) {
      const refused = await post(path, key === '' ? {} : { authorization: key });
      expect(refused.status).toBe(401);
      expect(refused.json).toMatchObject(
        dialect === 'messages'
          ? { type: 'error', error: { type: 'authentication_error' } }
          : dialect === 'gemini'
            ? { error: { code: 401, status: 'UNAUTHENTICATED' } }
            : { error: { type: 'authentication_error', code: 'invalid_api_key' } },
      );
    }
  });

  it('is a 400 that says so once the run has ended', async () => {
    const { seat, service } = await startSeat();
    await service.request(`/v1/traces/${seat.trace_id}/cancel`, { method: 'POST' });
    await service.ended(seat.trace_id);
    await expect.poll(async () => (await askModel(seat, path, body)).status).toBe(400);
    const refused = await askModel(seat, path, body);
    expect(refused.text).toContain('The run has ended');
    if (dialect === 'chat' || dialect === 'responses') {
      expect(refused.json).toMatchObject({ error: { code: 'run_finished' } });
    }
  });
});

describe('what is beside the answers', () => {
  it('lists the model of the run, told apart by headers, and leaves the list of the service as it is', async () => {
    const { seat, service } = await startSeat();
    const secret = secretOf(seat);
    const list = (path: string, headers: Record<string, string>) => send(service.url, path, { headers });
    expect((await list('/v1/models', { authorization: `Bearer ${secret}` })).json).toMatchObject({
      object: 'list',
      data: [{ id: 'gpt-test', object: 'model' }],
    });
    expect((await list('/v1/models', { 'x-api-key': secret, 'anthropic-version': '2023-06-01' })).json).toMatchObject({
      data: [{ id: 'gpt-test', type: 'model' }],
    });
    expect((await list(`/v1beta/models?key=${secret}`, {})).json).toMatchObject({
      models: [{ name: 'models/gpt-test' }],
    });
    expect((await list(`/r/${secret}/v1/models`, {})).json).toMatchObject({ data: [{ id: 'gpt-test' }] });
    expect((await list('/v1/models/claude-anything', { authorization: `Bearer ${secret}` })).status).toBe(200);
    const ofService = await service.request('/v1/models');
    expect(JSON.stringify(ofService.json)).toContain('proctor/oracle');
    expect((await list('/v1/models', {})).status).toBe(401);
  });

  it('counts tokens without asking anybody', async () => {
    const { seat, gateway, service } = await startSeat();
    const body = { model: 'x', messages: [{ role: 'user', content: 'Count these few words, please.' }] };
    const counted = await askModel(seat, '/v1/messages/count_tokens', body);
    expect(counted).toMatchObject({ status: 200, json: { input_tokens: expect.any(Number) } });
    expect(gateway.requests).toEqual([]);
    expect((await service.store.trace(seat.trace_id))?.steps).toEqual([]);
  });

  it('answers a WebSocket with 426, and a method that is none with 405', async () => {
    const { seat, service } = await startSeat();
    const { port } = new URL(service.url);
    const reply = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), '127.0.0.1', () => {
        socket.write(
          `GET /v1/responses HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${secretOf(seat)}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
        );
      });
      socket.setEncoding('utf8').on('data', (text: string) => {
        resolve(text);
        socket.destroy();
      });
      socket.on('error', reject);
    });
    expect(reply).toMatch(/^HTTP\/1\.1 426 /);
  });

  it('refuses in the form of the protocol what it cannot read or does not serve', async () => {
    const { seat, gateway } = await startSeat();
    const ask = (path: string, body: object) => askModel(seat, path, body);
    expect((await ask('/v1/chat/completions', { model: 'x' })).json).toMatchObject({
      error: { code: 'missing_required_parameter', param: 'messages' },
    });
    expect((await ask('/v1/chat/completions', { model: 'x', messages: HELLO, n: 2 })).status).toBe(400);
    expect((await ask('/v1/responses', { model: 'x', input: 'a', previous_response_id: 'resp_1' })).status).toBe(400);
    expect((await ask('/v1/messages', { model: 'x', max_tokens: 1 })).json).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error' },
    });
    expect(gateway.requests).toEqual([]);
  });

  it('refuses a seat for a model that has no protocol, or no gateway, before a run exists', async () => {
    const { service } = await startSeat();
    const before = await service.countRuns();
    const post = (on: typeof service, model: string) =>
      on.request('/v1/agent/seats', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ env_name: 'counter', scenario_name: 'count_to', scenario_args: { target: 3 }, model }),
      });
    expect(await post(service, 'proctor/oracle')).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_parameter', param: 'model' } },
    });
    expect(await post(await startService(), 'gpt-test')).toMatchObject({
      status: 404,
      json: { error: { code: 'model_not_found' } },
    });
    expect(await service.countRuns()).toBe(before);
  });

  it('has none for an agent that brings its own model', async () => {
    const { service } = await startSeat();
    const seat = await openSeat(service);
    expect(seat.model).toBeNull();
    const refused = await askModel(seat, '/v1/chat/completions', { model: 'x', messages: HELLO });
    expect(refused).toMatchObject({ status: 400, text: expect.stringContaining('brings its own') });
  });

  it('gives each agent its configuration, with the addresses for its model', async () => {
    const { seat, service } = await startSeat();
    const secret = secretOf(seat);
    expect(seat.model).toEqual({
      api_key: secret,
      openai_base_url: `${service.url}/v1`,
      anthropic_base_url: service.url,
      gemini_base_url: service.url,
    });
    expect(seat.env).toMatchObject({
      OPENAI_BASE_URL: `${service.url}/v1`,
      ANTHROPIC_BASE_URL: service.url,
      ANTHROPIC_AUTH_TOKEN: secret,
      GOOGLE_GEMINI_BASE_URL: service.url,
      GEMINI_API_KEY: secret,
    });
    expect(seat.configs.codex).toContain(`base_url = "${service.url}/r/${secret}/v1"`);
    expect(seat.configs.opencode).toMatchObject({
      provider: { openai: { options: { baseURL: `${service.url}/v1`, apiKey: secret } } },
    });
    expect(seat.configs.gemini).toMatchObject({ security: { auth: { selectedType: 'gemini-api-key' } } });
  });
});

describe('a hundred seats at once', () => {
  it('each with its own calls, of which none sees another', async () => {
    const { models } = await startModels([whole({ content: 'Hi.' })]);
    const service = await startService({ models });
    const seats = await Promise.all(Array.from({ length: 100 }, () => openSeat(service, { model: 'gpt-test' })));
    const replies = await Promise.all(
      seats.map((seat, index) =>
        askModel(seat, '/v1/chat/completions', { model: 'x', messages: [{ role: 'user', content: `I am ${index}` }] }),
      ),
    );
    expect(replies.filter(({ status }) => status !== 200)).toEqual([]);
    const traces = await Promise.all(seats.map(({ trace_id }) => service.store.trace(trace_id)));
    for (const [index, trace] of traces.entries()) {
      expect(trace?.steps).toMatchObject([{ input: { messages: [{ content: `I am ${index}` }] } }]);
    }
  });
});
