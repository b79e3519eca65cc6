import { describe, expect, it } from 'vitest';
import { until } from '../../until.ts';
import { HARNESS, serveHttp } from './clients.ts';
import { createExam } from './exam.ts';
import { modern, openSession, rpc, send } from './raw-http.ts';

const KEY = 'k'.repeat(32);

describe('2026-07-28 over HTTP', () => {
  const harness = { ...HARNESS, 'svc/harness_key': KEY };
  const setup = (target: number, meta: object = {}) =>
    modern(
      'tools/call',
      { name: 'setup', arguments: { name: 'count_to', arguments: { target } } },
      { ...harness, ...meta },
    );

  it('gives every setup that names no session a new one, by a handle', async () => {
    const url = await serveHttp(createExam(), { harnessKey: KEY });
    const handles: string[] = [];
    for (const target of [1, 2]) {
      const { result } = JSON.parse((await send(url, setup(target))).text);
      handles.push(result._meta['svc/session_id']);
    }
    expect(new Set(handles).size).toBe(2);
    const [first, second] = handles.map((handle) => ({ ...harness, 'svc/session_id': handle }));
    const call = async (name: string, args: object, meta: object = {}) =>
      JSON.parse((await send(url, modern('tools/call', { name, arguments: args }, meta))).text).result;
    await call('increment', { by: 2 }, second);
    const grade = { name: 'count_to', arguments: { answer: 'done' } };
    expect((await call('evaluate', grade, first)).structuredContent.reward).toBe(0);
    expect((await call('evaluate', grade, second)).structuredContent.reward).toBe(1);
  });

  it('gives a caller that names none one instance of its own', async () => {
    const url = await serveHttp(createExam());
    const call = modern('tools/call', { name: 'increment', arguments: {} });
    const replies = await Promise.all([send(url, call), send(url, call)]);
    expect(replies.map(({ text }) => JSON.parse(text).result.structuredContent.count).sort()).toEqual([1, 2]);
  });

  it('refuses a session that is unknown, or of the other era', async () => {
    const url = await serveHttp(createExam(), { harnessKey: KEY });
    for (const handle of ['nope', await openSession(url), 7]) {
      const reply = await send(url, modern('tools/list', {}, { 'svc/session_id': handle }));
      expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([404, -32602]);
    }
  });

  it('keeps no session whose setup failed', async () => {
    const events: string[] = [];
    const url = await serveHttp(createExam(events), { harnessKey: KEY });
    const failed = JSON.parse((await send(url, setup(-1))).text);
    expect(failed.result.isError).toBe(true);
    await until(() => events.includes('close 1'));
  });

  it('opens no session for an agent’s setup, which is one of an unknown tool', async () => {
    const url = await serveHttp(createExam(), { harnessKey: KEY, maxSessions: 1 });
    const increment = modern('tools/call', { name: 'increment', arguments: {} });
    await send(url, increment);
    const agents = await send(url, modern('tools/call', { name: 'setup', arguments: { name: 'count_to' } }, HARNESS));
    const unknown = await send(url, modern('tools/call', { name: 'nope', arguments: { name: 'count_to' } }, HARNESS));
    expect(agents.text.replace('setup', 'nope')).toBe(unknown.text);
    expect([agents.status, unknown.status]).toEqual([200, 200]);
    // Another session would have taken the place of the caller's own.
    expect(JSON.parse((await send(url, increment)).text).result.structuredContent).toEqual({ count: 2 });
  });

  it('wants headers that repeat the body', async () => {
    const url = await serveHttp(createExam());
    const call = modern('tools/call', { name: 'increment' });
    for (const headers of [
      { 'mcp-protocol-version': undefined },
      { 'mcp-protocol-version': '2025-11-25' },
      { 'mcp-method': undefined },
      { 'mcp-method': 'tools/list' },
      { 'mcp-name': undefined },
      { 'mcp-name': 'crash' },
    ]) {
      const reply = await send(url, { ...call, headers: { ...call.headers, ...headers } });
      expect([reply.status, JSON.parse(reply.text).error.code, headers]).toEqual([400, -32020, headers]);
    }
    const encoded = `=?base64?${Buffer.from('increment').toString('base64')}?=`;
    expect((await send(url, { ...call, headers: { ...call.headers, 'mcp-name': encoded } })).status).toBe(200);
  });

  it('has no handshake, no ping, and no other revision to come', async () => {
    const url = await serveHttp(createExam());
    for (const method of ['initialize', 'ping', 'nope/nope']) {
      const reply = await send(url, modern(method));
      expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([404, -32601]);
    }
    const later = { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
    const call = modern('tools/list', {}, later);
    const reply = await send(url, { ...call, headers: { ...call.headers, 'mcp-protocol-version': '2099-01-01' } });
    expect([reply.status, JSON.parse(reply.text).error]).toMatchObject([
      400,
      { code: -32022, data: { supported: ['2026-07-28'], requested: '2099-01-01' } },
    ]);
    const bare = await send(url, { headers: { 'mcp-protocol-version': '2026-07-28' }, body: rpc('tools/list') });
    expect(bare.status).toBe(400);
  });

  it('describes itself by server/discover, without running the initialize hook', async () => {
    const events: string[] = [];
    const url = await serveHttp(createExam(events));
    const { text } = await send(url, modern('server/discover'));
    expect(JSON.parse(text).result).toMatchObject({ supportedVersions: ['2026-07-28'], instructions: 'Count.' });
    await send(url, modern('tools/list'));
    expect(events).toEqual([]);
    await send(url, modern('tools/call', { name: 'increment' }, { display_width: 640 }));
    expect(events).toEqual(['initialize 640x1080 2026-07-28 undefined']);
  });
});
