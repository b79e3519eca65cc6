import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import OpenAI from 'openai';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Seat } from '../../../src/contract/service/seat.ts';
import { createSeatSecret, hashSeatSecret } from '../../../src/rollout/seats/seat-secret.ts';
import { ownerHere } from '../../../src/store/database/row-lease.ts';
import { calls, says, startModels } from '../../gateway.ts';
import { openParts, startService, type TestService } from '../../service/runs/service.ts';
import { until } from '../../until.ts';
import { addressOf, openSeat, postSeat, secretOf, sitDown, sitDownV1 } from './seat.ts';

/** The same seat at the address of another process. */
function at(service: TestService, seat: Seat): Seat {
  return { ...seat, mcp: { ...seat.mcp, url: `${service.url}/mcp` } };
}

async function twoServices(options: Parameters<typeof startService>[0] = {}) {
  const parts = await openParts();
  const owner = await startService({ ...options, parts });
  return { owner, other: await startService({ ...options, parts }) };
}

const post = (url: string, headers: Record<string, string>, body: unknown, signal?: AbortSignal) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });

/** MiB that a client would send. */
const ALL = 256;

const CHAT = { model: 'any', messages: [{ role: 'user', content: 'Title?' }] };

describe('a seat at another process of the same database', () => {
  it.each(['legacy', 'modern'] as const)('is played there by MCP of the %s era as at its owner', async (mode) => {
    const { owner, other } = await twoServices();
    const seat = await openSeat(owner);
    const agent = await sitDown(at(other, seat), mode);
    expect((await agent.listTools()).tools.map(({ name }) => name)).toContain('submit_answer');
    await agent.callTool({ name: 'increment', arguments: { by: 3 } });
    await agent.callTool({ name: 'submit_answer', arguments: { answer: '3' } });
    expect(await other.ended(seat.trace_id)).toMatchObject({ status: 'completed', reward: 1, tool_calls: [{}] });
  });

  it('is reached with its secret in the path, and by the SDK of the first line', async () => {
    const { owner, other } = await twoServices();
    const seat = at(other, await openSeat(owner));
    expect(addressOf(seat)).toContain(`${other.url}/r/seat_`);
    const agent = await sitDownV1(seat);
    await agent.callTool({ name: 'increment', arguments: { by: 3 } });
    await agent.callTool({ name: 'submit_answer', arguments: { answer: '3' } });
    expect(await other.ended(seat.trace_id)).toMatchObject({ reward: 1 });
  });

  it('answers model calls there, streamed, and its trace has them', async () => {
    const { models } = await startModels([says('A title'), calls(['increment', { by: 3 }]), says('It shows 3.')]);
    const { owner, other } = await twoServices({ models });
    const seat = await openSeat(owner, { model: 'gpt-test' });
    const client = new OpenAI({ baseURL: `${other.url}/v1`, apiKey: secretOf(seat), maxRetries: 0 });
    const messages = [{ role: 'user' as const, content: 'Title?' }];
    const { data, response } = await client.chat.completions.create({ model: 'any', messages }).withResponse();
    expect(data.choices[0]?.message.content).toBe('A title');
    expect(response.headers.get('x-request-id')).toMatch(/^req_/);
    const agent = await sitDown(at(other, seat));
    const { tools } = await agent.listTools();
    const offered = tools.map(({ name, inputSchema }) => ({
      type: 'function' as const,
      function: { name, parameters: inputSchema },
    }));
    const stream = client.chat.completions.stream({ model: 'any', messages, tools: offered });
    expect((await stream.finalMessage()).tool_calls).toHaveLength(1);
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['gpt-test']);
    await agent.callTool({ name: 'increment', arguments: { by: 3 } });
    await agent.callTool({ name: 'submit_answer', arguments: { answer: '3' } });
    expect(await other.ended(seat.trace_id)).toMatchObject({ reward: 1, usage: { model_calls: 2 } });
  });

  it('is over there when its run has ended: 404 for MCP, 400 run_finished in the form of each dialect', async () => {
    const { models } = await startModels([says('A title')]);
    const { owner, other } = await twoServices({ models });
    const seat = await openSeat(owner, { model: 'gpt-test' });
    const authorization = `Bearer ${secretOf(seat)}`;
    expect((await post(`${other.url}/v1/chat/completions`, { authorization }, CHAT)).status).toBe(200);
    await owner.request(`/v1/traces/${seat.trace_id}/cancel`, { method: 'POST' });
    await owner.ended(seat.trace_id);
    await until(async () => (await rowsOf(owner)).length === 0);
    const refused = await post(`${other.url}/v1/chat/completions`, { authorization }, CHAT);
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { code: 'run_finished' } }]);
    const messages = await post(`${other.url}/v1/messages`, { 'x-api-key': secretOf(seat) }, CHAT);
    expect([messages.status, await messages.json()]).toMatchObject([
      400,
      { type: 'error', error: { code: 'run_finished' } },
    ]);
    await expect(sitDown(at(other, seat))).rejects.toThrow(/404|no open seat/i);
  });

  it('is none with a wrong secret: 404 for MCP, 401 for models', async () => {
    const { owner, other } = await twoServices();
    await openSeat(owner);
    const authorization = `Bearer ${createSeatSecret()}`;
    expect((await post(`${other.url}/mcp`, { authorization }, {})).status).toBe(404);
    expect((await post(`${other.url}/v1/chat/completions`, { authorization }, CHAT)).status).toBe(401);
  });
});

describe('the routes of a seat at another process of the same database', () => {
  it('show it with the addresses by which the client came there', async () => {
    const { owner, other } = await twoServices({ allowedHosts: ['proctor.example'] });
    const { trace_id } = await openSeat(owner);
    const shown = await other.request(`/v1/agent/seats/${trace_id}`, { headers: { host: 'proctor.example' } });
    expect(shown).toMatchObject({
      status: 200,
      json: { trace_id, status: 'running', mcp: { url: 'http://proctor.example/mcp' } },
    });
    expect(shown.text).not.toMatch(/seat_[0-9a-zA-Z]/);
    const { key } = await other.accounts.createKey({ name: 'stranger', account: 'stranger' });
    const strangers = { headers: { authorization: `Bearer ${key}` } };
    expect((await other.request(`/v1/agent/seats/${trace_id}`, strangers)).status).toBe(404);
  });

  it('end it with an answer, refuse one that does not fit, and say later that the run has ended', async () => {
    const { owner, other } = await twoServices();
    const seat = await openSeat(owner);
    const agent = await sitDown(seat);
    await agent.callTool({ name: 'increment', arguments: { by: 3 } });
    const answer = (body: object) =>
      other.request(`/v1/agent/seats/${seat.trace_id}/answer`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    expect(await answer({})).toMatchObject({ status: 400, json: { error: { code: 'missing_required_parameter' } } });
    expect(await answer({ answer: '3' })).toMatchObject({ status: 200, json: { status: 'completed', reward: 1 } });
    expect(await answer({ answer: '3' })).toMatchObject({ status: 409, json: { error: { code: 'run_finished' } } });
    const shown = await other.request(`/v1/agent/seats/${seat.trace_id}`);
    expect(shown).toMatchObject({ status: 409, json: { error: { code: 'run_finished' } } });
  });

  it('cancel it: its run ends, and then its trace can be deleted there', async () => {
    const { owner, other } = await twoServices();
    const { trace_id } = await openSeat(owner);
    expect(await other.request(`/v1/traces/${trace_id}`, { method: 'DELETE' })).toMatchObject({ status: 409 });
    expect((await other.request(`/v1/traces/${trace_id}/cancel`, { method: 'POST' })).status).toBe(200);
    expect(await owner.ended(trace_id)).toMatchObject({ status: 'cancelled' });
    expect((await other.request(`/v1/traces/${trace_id}`, { method: 'DELETE' })).status).toBe(204);
  });

  it('give the same seat for the same Idempotency-Key as long as it is open, and refuse another request', async () => {
    const { owner, other } = await twoServices({ allowedHosts: ['proctor.example'] });
    const key = { 'idempotency-key': 'once', host: 'proctor.example' };
    const first = await postSeat(owner, {}, key);
    const second = await postSeat(other, {}, key);
    expect([second.status, second.text]).toEqual([200, first.text]);
    expect(await postSeat(other, { max_steps: 7 }, key)).toMatchObject({
      status: 409,
      json: { error: { code: 'idempotency_conflict' } },
    });
    const { trace_id } = first.json as Seat;
    await other.request(`/v1/traces/${trace_id}/cancel`, { method: 'POST' });
    await owner.ended(trace_id);
    await until(async () => (await rowsOf(owner)).length === 0);
    const next = await postSeat(other, {}, key);
    expect(next.status).toBe(200);
    expect((next.json as Seat).trace_id).not.toBe(trace_id);
    expect((await postSeat(owner, {}, key)).text).toBe(next.text);
  });

  it('open another one for the key of an owner that has ended without a word', async () => {
    const { owner, other } = await twoServices();
    const key = { 'idempotency-key': 'once' };
    const { trace_id } = (await postSeat(owner, {}, key)).json as Seat;
    const gone = { ...ownerHere('seats_gone'), startedAt: 0, url: 'http://127.0.0.1:9' };
    await owner.database.kysely
      .updateTable('seats')
      .set({ owner: JSON.stringify(gone) })
      .execute();
    const next = await postSeat(other, {}, key);
    expect(next.status).toBe(200);
    expect((next.json as Seat).trace_id).not.toBe(trace_id);
    const shown = await other.request(`/v1/agent/seats/${trace_id}`);
    expect(shown).toMatchObject({ status: 409, json: { error: { code: 'run_finished' } } });
  });
});

describe('an owner whose row is in the database', () => {
  it('gets the request as it came, with the secret as its only credential', async () => {
    const { service, secret, owner } = await forged();
    const body = `{"model":"ü", "messages":[]}  `;
    const headers = {
      'x-goog-api-key': 'a-key-of-the-user',
      authorization: `Bearer ${secret}`,
      cookie: 'proctor=session',
      'anthropic-version': '2023-06-01',
    };
    const reply = await post(`${service.url}/v1/messages?beta=true`, headers, body);
    const [got] = owner.requests;
    expect(got).toMatchObject({ method: 'POST', url: '/v1/messages?beta=true', body });
    expect(got?.headers).toMatchObject({
      authorization: `Bearer ${secret}`,
      'x-goog-api-key': secret,
      'anthropic-version': '2023-06-01',
      'x-proctor-forwarded-to': owner.id,
      host: new URL(owner.url).host,
    });
    expect(got?.headers).not.toHaveProperty('cookie');
    expect(reply.headers.get('x-request-id')).toBe('req_of_the_owner');
    expect(reply.headers.get('retry-after')).toBe('7');
    expect([reply.status, await reply.text()]).toEqual([429, 'piece']);
  });

  it('answers in pieces, each of which is there at once', async () => {
    const { service, secret, owner } = await forged((_request, response) => void response.write('one'));
    const reply = await post(`${service.url}/v1/chat/completions`, { authorization: `Bearer ${secret}` }, CHAT);
    const reader = reply.body?.getReader();
    const next = async () => Buffer.from((await reader?.read())?.value ?? []).toString();
    expect(await next()).toBe('one');
    owner.responses[0]?.write('two');
    expect(await next()).toBe('two');
    owner.responses[0]?.end();
    expect(await next()).toBe('');
  });

  it('hears of a client that hangs up', async () => {
    const { service, secret, owner } = await forged((_request, response) => void response.write('one'));
    const client = new AbortController();
    const reply = await post(`${service.url}/mcp`, { authorization: `Bearer ${secret}` }, {}, client.signal);
    expect(reply.status).toBe(200);
    const [response] = owner.responses;
    const closed = response === undefined ? undefined : once(response, 'close');
    client.abort();
    await closed;
    expect(response?.writableFinished).toBe(false);
  });

  it('that breaks off in an answer breaks it off for the client', async () => {
    const { service, secret, owner } = await forged((_request, response) => void response.write('one'));
    const reply = await post(`${service.url}/v1/chat/completions`, { authorization: `Bearer ${secret}` }, CHAT);
    owner.server.closeAllConnections();
    await expect(reply.text()).rejects.toThrow();
  });

  it('that takes nothing holds the client up: no body is kept in between', async () => {
    const { service, secret } = await forged(() => {}, { reads: false });
    const { hostname: host, port } = new URL(service.url);
    const sending = httpRequest({
      host,
      port,
      path: '/mcp',
      method: 'POST',
      headers: { authorization: `Bearer ${secret}` },
    });
    sending.on('error', () => {});
    onTestFinished(() => void sending.destroy());
    const piece = Buffer.alloc(1024 * 1024);
    let taken = 0;
    const count = () => {
      taken += 1;
    };
    const push = () => {
      for (let flows = true; flows && taken < ALL; ) flows = sending.write(piece, count);
    };
    sending.on('drain', push);
    push();
    // As much goes as the sockets of three servers hold, and then nothing more.
    await untilStill(() => taken);
    expect(taken).toBeLessThan(64);
  });

  it('is held up by a client that takes nothing: no answer is kept in between', async () => {
    let sent = 0;
    const piece = Buffer.alloc(1024 * 1024);
    const { service, secret } = await forged((_request, response) => {
      const push = () => {
        for (let flows = true; flows && sent < ALL; sent += 1) flows = response.write(piece);
      };
      response.on('drain', push);
      push();
    });
    const { hostname: host, port } = new URL(service.url);
    const headers = { authorization: `Bearer ${secret}` };
    const asking = httpRequest({ host, port, path: '/mcp', method: 'POST', headers }).end();
    asking.on('error', () => {});
    onTestFinished(() => void asking.destroy());
    const [reply] = (await once(asking, 'response')) as [IncomingMessage];
    reply.pause();
    await untilStill(() => sent);
    expect(sent).toBeLessThan(64);
  });

  it('is asked once: a request that was forwarded goes no further', async () => {
    const { owner: first, other: second } = await twoServices();
    // A process that has ended, at whose address another one answers.
    const secret = createSeatSecret();
    await insertRow(first, secret, { ...ownerHere('seats_ended'), url: second.url });
    expect((await post(`${first.url}/mcp`, { authorization: `Bearer ${secret}` }, {})).status).toBe(404);
    const refused = await post(`${first.url}/v1/chat/completions`, { authorization: `Bearer ${secret}` }, CHAT);
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { code: 'run_finished' } }]);
  });

  it.each([
    ['has not been heard of for a minute', { seenAt: Date.now() - 61_000, port: undefined }],
    ['listens no more', { seenAt: Date.now(), port: 1 }],
  ])('and that %s is gone: 404 for MCP, 400 for models', async (_case, { seenAt, port }) => {
    const service = await startService();
    const secret = createSeatSecret();
    const url = `http://127.0.0.1:${port ?? new URL(service.url).port}`;
    await insertRow(service, secret, { ...ownerHere('seats_gone'), url }, seenAt);
    const authorization = `Bearer ${secret}`;
    expect((await post(`${service.url}/mcp`, { authorization }, {})).status).toBe(404);
    expect((await post(`${service.url}/v1/messages`, { authorization }, CHAT)).status).toBe(400);
  });

  it('on another machine that tells a loopback address is not asked, and the error says what to set', async () => {
    const service = await startService();
    const secret = createSeatSecret();
    await insertRow(service, secret, { ...ownerHere('seats_far'), host: `not-${hostname()}`, url: service.url });
    const refused = await post(`${service.url}/v1/chat/completions`, { authorization: `Bearer ${secret}` }, CHAT);
    expect([refused.status, await refused.text()]).toEqual([502, expect.stringContaining('PROCTOR_ADVERTISE_URL')]);
  });

  it('that vanished without a word is given up when its row says that it is gone', async () => {
    const { service, secret, owner } = await forged((_request, response) => void response.write('one'), {
      lookForOwnersMs: 20,
    });
    const reply = await post(`${service.url}/v1/chat/completions`, { authorization: `Bearer ${secret}` }, CHAT);
    await service.database.kysely.deleteFrom('seats').where('owner', 'like', `%${owner.id}%`).execute();
    await expect(reply.text()).rejects.toThrow();
  });
});

describe('the address that a service advertises', () => {
  it('is written into the rows of its seats, and allowed as Host', async () => {
    const named = await startService({ advertiseUrl: 'http://owner.example:8320/base' });
    await openSeat(named);
    expect((await rowsOf(named)).map(({ owner }) => JSON.parse(owner))).toMatchObject([
      { url: 'http://owner.example:8320/base' },
    ]);
    expect(await statusWithHost(named, 'owner.example:8320')).toBe(404);
    expect(await statusWithHost(named, 'elsewhere.example:8320')).toBe(403);
    const plain = await startService();
    await openSeat(plain);
    expect((await rowsOf(plain)).map(({ owner }) => JSON.parse(owner))).toMatchObject([{ url: plain.url }]);
  });
});

function rowsOf({ database }: TestService) {
  return database.kysely.selectFrom('seats').selectAll().execute();
}

async function insertRow(
  { database }: TestService,
  secret: string,
  owner: object,
  seen_at = Date.now(),
): Promise<void> {
  const row = {
    trace_id: randomBytes(16).toString('hex'),
    account: 'a',
    secret_hash: hashSeatSecret(secret),
    owner: JSON.stringify(owner),
    seen_at,
  };
  await database.kysely.insertInto('seats').values(row).execute();
}

/** Resolves when a count of MiB grows no more, or has reached all of them. */
async function untilStill(count: () => number): Promise<void> {
  let before = 0;
  let quietLooks = 0;
  await until(() => {
    const now = count();
    quietLooks = now === before && now > 0 ? quietLooks + 1 : 0;
    before = now;
    return now >= ALL || quietLooks > 10;
  });
}

async function statusWithHost({ url }: TestService, host: string): Promise<number | undefined> {
  const { hostname: name, port } = new URL(url);
  const asked = httpRequest({ host: name, port, path: '/mcp', method: 'POST', headers: { host } }).end();
  const [reply] = (await once(asked, 'response')) as [IncomingMessage];
  reply.resume();
  return reply.statusCode;
}

interface ForgedOwner {
  readonly id: string;
  readonly url: string;
  readonly server: Server;
  readonly requests: {
    method?: string | undefined;
    url?: string | undefined;
    headers: IncomingMessage['headers'];
    body: string;
  }[];
  readonly responses: ServerResponse[];
}

/** A service, and a row of its database whose owner is a bare HTTP server. */
async function forged(
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => {
    response.writeHead(429, { 'x-request-id': 'req_of_the_owner', 'retry-after': '7' }).end('piece');
  },
  options: { readonly reads?: boolean; readonly lookForOwnersMs?: number } = {},
) {
  const { reads = true, lookForOwnersMs } = options;
  const service = await startService(lookForOwnersMs === undefined ? {} : { seats: { lookForOwnersMs } });
  const requests: ForgedOwner['requests'] = [];
  const responses: ServerResponse[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    if (reads) for await (const piece of request.setEncoding('utf8')) body += piece;
    requests.push({ method: request.method, url: request.url, headers: request.headers, body });
    responses.push(response);
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const id = 'seats_forged';
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const secret = createSeatSecret();
  await insertRow(service, secret, { ...ownerHere(id), url });
  const owner: ForgedOwner = { id, url, server, requests, responses };
  return { service, secret, owner };
}
