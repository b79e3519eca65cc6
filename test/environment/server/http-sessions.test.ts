import { request } from 'node:http';
import { connect } from 'node:net';
import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { until } from '../../until.ts';
import { serveHttp } from './clients.ts';
import { createExam } from './exam.ts';
import { initializeBody, modern, openSession, rpc, send } from './raw-http.ts';

describe('sessions over HTTP', () => {
  it('end with DELETE, which runs their close hooks', async () => {
    const events: string[] = [];
    const url = await serveHttp(createExam(events));
    const headers = { 'mcp-session-id': await openSession(url) };
    expect((await send(url, { method: 'DELETE', headers })).status).toBe(204);
    expect(events).toEqual(expect.arrayContaining(['close 2', 'close 1']));
    expect((await send(url, { headers, body: rpc('tools/list') })).status).toBe(404);
  });

  it('are aborted in their running requests when they end', async () => {
    const events: string[] = [];
    const url = await serveHttp(createExam(events));
    const headers = { 'mcp-session-id': await openSession(url) };
    const waiting = send(url, { headers, body: rpc('tools/call', { name: 'wait' }, 9) });
    await until(() => events.includes('waiting'));
    await send(url, { method: 'DELETE', headers });
    expect(events).toContain('aborted');
    expect(JSON.parse((await waiting).text)).toMatchObject({ id: 9, error: { message: 'The session has ended' } });
  });

  it('have an id that is told to their client alone, not to author code', async () => {
    const url = await serveHttp(createExam());
    const headers = { 'mcp-session-id': await openSession(url) };
    const { text } = await send(url, { headers, body: rpc('tools/call', { name: 'meta' }) });
    expect(JSON.parse(text).result.structuredContent.session.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(text).not.toContain(headers['mcp-session-id']);
  });

  it('are answered with an error where a stream has begun, too', async () => {
    const events: string[] = [];
    const environment = new EnvironmentServer({ name: 'worker' }).tool('work', {}, async (_args, ctx) => {
      ctx.progress(1);
      events.push('working');
      await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve(), { once: true }));
    });
    const url = await serveHttp(environment);
    const headers = { 'mcp-session-id': await openSession(url) };
    const call = { name: 'work', _meta: { progressToken: 'p' } };
    const working = send(url, { headers, body: rpc('tools/call', call, 9) });
    await until(() => events.includes('working'));
    await send(url, { method: 'DELETE', headers });
    const messages = (await working).text.split('\n').filter((line) => line.startsWith('data: {'));
    expect(messages.map((line) => JSON.parse(line.slice(6)))).toMatchObject([
      { method: 'notifications/progress' },
      { id: 9, error: { message: 'The session has ended' } },
    ]);
  });

  it('have a cap: idle ones make room, the least recently used first, then it is a 503', async () => {
    let now = 0;
    const events: string[] = [];
    const url = await serveHttp(createExam(events), { maxSessions: 2, now: () => now });
    const open = async () => {
      now += 1;
      return { 'mcp-session-id': await openSession(url) };
    };
    const first = await open();
    const second = await open();
    now += 1;
    expect((await send(url, { headers: first, body: rpc('ping') })).status).toBe(200);
    const third = await open();
    expect((await send(url, { headers: second, body: rpc('ping') })).status).toBe(404);
    const busy = [first, third].map((headers) => send(url, { headers, body: rpc('tools/call', { name: 'wait' }) }));
    await until(() => events.filter((event) => event === 'waiting').length === 2);
    const refused = await send(url, { body: initializeBody() });
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
    await send(url, { method: 'DELETE', headers: first });
    expect((await send(url, { body: initializeBody() })).status).toBe(200);
    await send(url, { method: 'DELETE', headers: third });
    await Promise.all(busy);
  });

  it('expire when they have been idle, not while a request or a stream is open', async () => {
    let now = 0;
    const events: string[] = [];
    const url = await serveHttp(createExam(events), { idleTimeoutMs: 20, now: () => now });
    const idle = { 'mcp-session-id': await openSession(url) };
    const streaming = { 'mcp-session-id': await openSession(url) };
    const stream = request(url, { headers: { ...streaming, accept: 'text/event-stream' } });
    await new Promise((resolve) => stream.once('response', resolve).end());
    now = 21;
    await until(() => events.includes('close 1'));
    expect((await send(url, { headers: idle, body: rpc('ping') })).status).toBe(404);
    expect((await send(url, { headers: streaming, body: rpc('ping') })).status).toBe(200);
    stream.destroy();
  });

  it('leave nothing behind when initialize fails or its client goes away', async () => {
    const { EnvironmentServer } = await import('proctor');
    const closed: string[] = [];
    let isBroken = true;
    const build = () =>
      new EnvironmentServer({ name: 'e' })
        .initialize(() => {
          if (isBroken) throw new Error('no database');
        })
        .close(() => {
          closed.push('closed');
        });
    const reports: string[] = [];
    const url = await serveHttp(build, { maxSessions: 1, report: (text) => reports.push(text) });
    const failed = await send(url, { body: initializeBody() });
    expect(JSON.parse(failed.text).error.message).toMatch(/^The environment could not be initialized/);
    expect(failed.headers['mcp-session-id']).toBeUndefined();
    expect(reports.join()).toContain('no database');
    await until(() => closed.length === 1);
    isBroken = false;
    expect((await send(url, { body: initializeBody() })).status).toBe(200);
  });

  it('abort the handler when the client disconnects during a request', async () => {
    for (const raw of [modern('tools/call', { name: 'wait' }), undefined]) {
      const events: string[] = [];
      const url = await serveHttp(createExam(events));
      const { headers = {}, body } = raw ?? {
        headers: { 'mcp-session-id': await openSession(url) },
        body: rpc('tools/call', { name: 'wait' }),
      };
      const outgoing = request(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', accept: '*/*' },
      });
      outgoing.once('error', () => {});
      outgoing.end(body);
      await until(() => events.includes('waiting'));
      outgoing.destroy();
      await until(() => events.includes('aborted'));
    }
  });

  it('abort every call of a client that disconnects, those that waited behind another on its connection too', async () => {
    const events: string[] = [];
    const url = await serveHttp(createExam(events));
    const id = await openSession(url);
    const call = (number: number) => {
      const body = rpc('tools/call', { name: 'wait' }, number);
      const type = 'Content-Type: application/json\r\nAccept: application/json, text/event-stream';
      return `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${type}\r\nMcp-Session-Id: ${id}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    };
    const client = connect(Number(new URL(url).port), '127.0.0.1');
    client.write(`${call(1)}${call(2)}${call(3)}`);
    await until(() => events.filter((event) => event === 'waiting').length === 3);
    client.destroy();
    await until(() => events.filter((event) => event === 'aborted').length === 3);
  });
});
