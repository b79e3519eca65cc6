import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { startService, type TestService } from '../../service/runs/service.ts';
import { send } from '../../support/http/http-server.ts';
import { addressOf, openSeat, postSeat, secretOf, sitDown } from './seat.ts';

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'stranger', version: '1' } },
});

function knock(service: TestService, headers: Record<string, string>, path = '/mcp') {
  return send(service.url, path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: INITIALIZE,
  });
}

describe('the secret of a seat', () => {
  it('has 128 bits, and each seat has its own', async () => {
    const service = await startService();
    const secrets = [secretOf(await openSeat(service)), secretOf(await openSeat(service))];
    for (const secret of secrets) expect(secret).toMatch(/^seat_[0-9a-f]{32}$/);
    expect(secrets[0]).not.toBe(secrets[1]);
  });

  it('opens nothing where it is wrong, missing or an API key: 404, so that no client looks for a sign-in', async () => {
    const service = await startService();
    const secret = secretOf(await openSeat(service));
    const wrong = `${secret.slice(0, -1)}${secret.endsWith('0') ? '1' : '0'}`;
    const tries = [{}, { authorization: `Bearer ${wrong}` }, { authorization: `Bearer ${service.key}` }] as const;
    const bodies = new Set<string>();
    for (const headers of tries) {
      const reply = await knock(service, headers);
      expect(reply).toMatchObject({ status: 404, json: { error: { code: -32_001 } } });
      expect(reply.headers['www-authenticate']).toBeUndefined();
      bodies.add(reply.text);
    }
    expect(bodies.size).toBe(1);
    expect((await knock(service, {}, `/r/${wrong}/mcp`)).status).toBe(404);
    // A right one beside a wrong one in the path does not help.
    expect((await knock(service, { authorization: `Bearer ${secret}` }, `/r/${wrong}/mcp`)).status).toBe(404);
    expect((await knock(service, { authorization: `Bearer ${secret}` })).status).toBe(200);
  });

  it('opens no other seat: not its session either', async () => {
    const service = await startService();
    const [mine, yours] = [await openSeat(service), await openSeat(service)];
    const agent = await sitDown(mine);
    await agent.callTool({ name: 'increment', arguments: { by: 3 } });
    const session = (await knock(service, mine.mcp.headers)).headers['mcp-session-id'];
    const body = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
    const ask = (headers: Record<string, string>) =>
      send(service.url, '/mcp', {
        method: 'POST',
        body,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-session-id': String(session),
          ...headers,
        },
      });
    expect((await ask(yours.mcp.headers)).status).toBe(404);
    expect((await ask(mine.mcp.headers)).status).toBe(200);
    const other = await sitDown(yours);
    expect((await other.callTool({ name: 'read', arguments: {} })).content).toEqual([{ type: 'text', text: '0' }]);
  });

  it('is no API key: it reads no trace, and neither ends nor cancels its seat', async () => {
    const service = await startService();
    const seat = await openSeat(service);
    const { headers } = seat.mcp;
    const paths = ['/v1/traces', `/v1/traces/${seat.trace_id}`, '/v1/usage', `/v1/agent/seats/${seat.trace_id}`];
    for (const path of paths) expect((await send(service.url, path, { headers })).status).toBe(401);
    const posts = [`/v1/agent/seats/${seat.trace_id}/answer`, `/v1/traces/${seat.trace_id}/cancel`, '/v1/agent/run'];
    for (const path of posts) {
      const reply = await send(service.url, path, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: '{"answer":"x"}',
      });
      expect(reply.status).toBe(401);
    }
  });

  it('leads to the MCP address alone where it stands in a path, whatever key comes with it', async () => {
    const service = await startService();
    const secret = secretOf(await openSeat(service));
    for (const path of ['/v1/traces', '/healthz', '', '/', '//mcp', '/mcp/', `/r/${secret}/mcp`]) {
      const reply = await service.request(`/r/${secret}${path}`);
      expect([path, reply.status]).toEqual([path, 401]);
      expect(reply.text).not.toContain(secret);
    }
    // An API key in a path is none.
    expect((await send(service.url, `/r/${service.key}/v1/traces`)).status).toBe(401);
  });

  it('is told once: not by the log, the database or the trace, though its agent says it', async () => {
    const log = new PassThrough();
    const service = await startService({ logger: pino({ level: 'info' }, log) });
    const seat = await openSeat(service);
    const secret = secretOf(seat);
    const agent = await sitDown({ mcp: { url: addressOf(seat), headers: {} } });
    await agent.callTool({ name: 'increment', arguments: { by: 3, note: `my key is ${secret}` } });
    await service.request(`/r/${secret}/v1/traces`);
    const looked = await service.request(`/v1/agent/seats/${seat.trace_id}`);
    expect(looked.text).not.toContain(secret);
    expect(looked.json).toMatchObject({ mcp: { headers: { Authorization: 'Bearer <secret>' } } });
    await agent.callTool({ name: 'submit_answer', arguments: { answer: secret } });
    const trace = await service.ended(seat.trace_id);
    expect(JSON.stringify(trace)).not.toContain(secret);
    expect(trace.answer).toBe('[redacted:seat_secret]');
    const events = await service.database.kysely.selectFrom('events').select('body').execute();
    expect(JSON.stringify(events)).not.toContain(secret);
    const seats = await service.database.kysely.selectFrom('seats').selectAll().execute();
    expect(JSON.stringify(seats)).not.toContain(secret);
    expect(String(log.read())).not.toContain(secret);
  });

  it('is kept as a hash while the seat is open, and is dead when the run has ended', async () => {
    const service = await startService();
    const seat = await openSeat(service);
    const rows = () => service.database.kysely.selectFrom('seats').selectAll().execute();
    expect(await rows()).toMatchObject([
      { trace_id: seat.trace_id, secret_hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ]);
    expect(JSON.stringify(await rows())).not.toContain(secretOf(seat));
    const agent = await sitDown(seat);
    await agent.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
    await service.ended(seat.trace_id);
    expect((await knock(service, seat.mcp.headers)).status).toBe(404);
    await expect(agent.callTool({ name: 'read', arguments: {} })).rejects.toThrow(/404|no open seat/i);
    await expect.poll(rows).toEqual([]);
  });

  it('is accepted from the names that the service answers to alone', async () => {
    const service = await startService();
    const seat = await openSeat(service);
    expect((await knock(service, { ...seat.mcp.headers, host: 'evil.example' })).status).toBe(403);
    expect((await knock(service, { ...seat.mcp.headers, origin: 'https://evil.example' })).status).toBe(403);
  });

  it('is not given without an API key', async () => {
    const service = await startService();
    const reply = await postSeat(service, {}, { authorization: 'Bearer nobody' });
    expect(reply.status).toBe(401);
  });
});
