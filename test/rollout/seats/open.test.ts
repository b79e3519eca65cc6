import { describe, expect, it } from 'vitest';
import { startService } from '../../service/runs/service.ts';
import { send } from '../../support/http/http-server.ts';
import { createRoom } from './environment.ts';
import { COUNT_TO_3, openSeat, postSeat, secretOf, sitDown } from './seat.ts';

describe('POST /v1/agent/seats', () => {
  it('answers when setup has run, with everything that an agent needs', async () => {
    const service = await startService();
    const before = Date.now();
    const reply = await postSeat(service, { timeout_seconds: 60, metadata: { night: 'one' } });
    expect(reply).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    const seat = await openSeat(service);
    const { trace_id, mcp } = reply.json as typeof seat;
    expect(reply.headers['x-svc-trace-id']).toBe(trace_id);
    expect(reply.json).toMatchObject({
      trace_url: `https://app.example/traces/${trace_id}`,
      status: 'running',
      prompt: [{ role: 'user', content: expect.stringContaining('exactly 3') }],
      system: null,
      model: null,
      mcp: {
        url: `${service.url}/mcp`,
        headers: { Authorization: expect.stringMatching(/^Bearer seat_[0-9a-f]{32}$/) },
      },
      env: { NO_PROXY: '127.0.0.1', MCP_CONNECTION_NONBLOCKING: 'false' },
    });
    const expiresIn = Date.parse((reply.json as typeof seat).expires_at) - before;
    expect(expiresIn).toBeGreaterThanOrEqual(60_000);
    expect(expiresIn).toBeLessThan(120_000);
    expect(mcp.url).not.toContain('seat_');
    expect(await service.store.trace(trace_id)).toMatchObject({
      origin: 'agent',
      status: 'running',
      model: 'external',
      metadata: { night: 'one' },
      tools: [{ name: 'increment' }, { name: 'read' }, { name: 'slow_increment' }],
    });
    const listed = await service.request('/v1/traces?origin=agent&model=external');
    expect(listed.json).toMatchObject({ data: [{ origin: 'agent' }, { origin: 'agent' }] });
  });

  it('gives each agent its configuration', async () => {
    const service = await startService();
    const seat = await openSeat(service);
    const { url, headers } = seat.mcp;
    expect(seat.configs).toEqual({
      claude: { mcpServers: { env: { type: 'http', url, headers, timeout: 600_000 } } },
      codex: [
        'web_search = "disabled"',
        '',
        '[mcp_servers.env]',
        `url = "${service.url}/r/${secretOf(seat)}/mcp"`,
        'required = true',
        'startup_timeout_sec = 300',
        'tool_timeout_sec = 600',
        'default_tools_approval_mode = "approve"',
        '',
      ].join('\n'),
      gemini: {
        privacy: { usageStatisticsEnabled: false },
        mcpServers: { env: { httpUrl: url, headers, timeout: 600_000, trust: true } },
      },
      opencode: {
        $schema: 'https://opencode.ai/config.json',
        mcp: { env: { type: 'remote', url, headers, enabled: true } },
      },
      vscode: { servers: { env: { type: 'http', url, headers } } },
    });
  });

  it('gives the address by which it was reached, and that of the pages where a proxy stands before it', async () => {
    const service = await startService({ allowedHosts: ['app.example', 'box.internal'] });
    const urls = await Promise.all(
      ['app.example', 'box.internal:8320'].map(async (host) => {
        const reply = await postSeat(service, {}, { host });
        return (reply.json as { mcp: { url: string } }).mcp.url;
      }),
    );
    expect(urls).toEqual(['https://app.example/mcp', 'http://box.internal:8320/mcp']);
  });

  it.each([
    [{ model: 'gpt-5-mini' }, 404, 'model_not_found', 'model', 'PROCTOR_GATEWAY_URL'],
    [{ model: 'proctor/oracle' }, 400, 'invalid_parameter', 'model', 'reference model'],
    [{ answer: 'final_message' }, 400, 'invalid_parameter', 'answer', 'without a model'],
    [{ answer: 'loud' }, 400, 'invalid_parameter', 'answer', 'answer'],
    [{ max_steps: 0 }, 400, 'invalid_parameter', 'max_steps', 'max_steps'],
    [{ env_name: 'nothing' }, 404, 'env_not_found', 'env_name', 'counter'],
    [{ scenario_name: 'nothing' }, 404, 'scenario_not_found', 'scenario_name', 'count_to'],
    [{ scenario_args: { target: 'three' } }, 400, 'invalid_scenario_args', 'scenario_args.target', 'target'],
  ])('refuses %j before a run exists', async (body, status, code, param, words) => {
    const service = await startService();
    expect(await postSeat(service, body)).toMatchObject({
      status,
      json: { error: { code, param, message: expect.stringContaining(words) } },
    });
    expect(await service.countRuns()).toBe(0);
  });

  it('gives the same seat again for the same Idempotency-Key while it is open, and a new one after that', async () => {
    const service = await startService();
    const key = { 'idempotency-key': 'once' };
    const [first, meanwhile] = await Promise.all([postSeat(service, {}, key), postSeat(service, {}, key)]);
    const replies = [first, meanwhile, await postSeat(service, {}, key)];
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
    expect(await service.countRuns()).toBe(1);
    expect(await postSeat(service, { max_steps: 7 }, key)).toMatchObject({
      status: 409,
      json: { error: { code: 'idempotency_conflict' } },
    });
    const { key: otherKey } = await service.accounts.createKey({ name: 'other', account: 'other' });
    const other = await postSeat(service, {}, { ...key, authorization: `Bearer ${otherKey}` });
    expect(other.status).toBe(200);
    expect(other.text).not.toBe(first.text);
    const seat = first.json as Awaited<ReturnType<typeof openSeat>>;
    const agent = await sitDown(seat);
    await agent.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
    await service.ended(seat.trace_id);
    const next = await postSeat(service, {}, key);
    expect(next.status).toBe(200);
    expect((next.json as typeof seat).trace_id).not.toBe(seat.trace_id);
  });

  it('does not use a key up by what it refuses', async () => {
    const service = await startService({ environments: new Map([['room', createRoom()]]) });
    const key = { 'idempotency-key': 'once' };
    const body = { env_name: 'room', scenario_args: {} };
    expect((await postSeat(service, { ...body, scenario_name: 'broken' }, key)).status).toBe(502);
    expect((await postSeat(service, { ...body, scenario_name: 'plain' }, key)).status).toBe(200);
  });

  it('holds a key to its runs at once, and to its requests per minute', async () => {
    const service = await startService();
    const { key } = await service.accounts.createKey({ name: 'narrow', concurrentRuns: 2 });
    const narrow = { authorization: `Bearer ${key}` };
    const replies = await Promise.all(Array.from({ length: 5 }, () => postSeat(service, {}, narrow)));
    const opened = replies.filter(({ status }) => status === 200);
    const refused = replies.filter(({ status }) => status !== 200);
    expect([opened.length, refused.length]).toEqual([2, 3]);
    for (const reply of refused) {
      expect(reply).toMatchObject({ status: 429, json: { error: { code: 'quota_exceeded' } } });
      expect(reply.headers['retry-after']).toBeDefined();
    }
    expect(await service.countRuns()).toBe(2);
    const seat = opened[0]?.json as Awaited<ReturnType<typeof openSeat>>;
    await service.request(`/v1/traces/${seat.trace_id}/cancel`, { method: 'POST', headers: narrow });
    await expect.poll(async () => (await postSeat(service, {}, narrow)).status).toBe(200);
    const { key: slow } = await service.accounts.createKey({ name: 'slow', requestsPerMinute: 1 });
    const slowly = { authorization: `Bearer ${slow}` };
    const statuses = [await postSeat(service, {}, slowly), await postSeat(service, {}, slowly)];
    expect(statuses.map(({ status }) => status)).toEqual([200, 429]);
  });

  it('opens a hundred seats at once, each with a session of its own', { timeout: 120_000 }, async () => {
    const service = await startService();
    const seats = await Promise.all(
      Array.from({ length: 100 }, (_, index) => openSeat(service, { scenario_args: { target: index + 1 } })),
    );
    expect(new Set(seats.map(secretOf)).size).toBe(100);
    const traces = await Promise.all(
      seats.map(async (seat, index) => {
        const agent = await sitDown(seat, index % 2 === 0 ? 'legacy' : 'modern');
        expect((await agent.listTools()).tools.length).toBe(4);
        await agent.callTool({ name: 'increment', arguments: { by: index + 1 } });
        await agent.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
        return await service.ended(seat.trace_id);
      }),
    );
    expect(traces.filter(({ reward }) => reward === 1)).toHaveLength(100);
    expect(traces.every(({ tool_calls }) => tool_calls?.length === 1)).toBe(true);
    await expect.poll(() => service.database.kysely.selectFrom('seats').selectAll().execute()).toEqual([]);
  });

  it('works at a service that executes no runs, and describes itself', async () => {
    const service = await startService({ worker: false });
    const agent = await sitDown(await openSeat(service, COUNT_TO_3));
    expect((await agent.callTool({ name: 'read', arguments: {} })).content).toEqual([{ type: 'text', text: '0' }]);
    const { json } = await send(service.url, '/openapi.json');
    const { paths } = json as { paths: Record<string, Record<string, { security?: unknown }>> };
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining(['/v1/agent/seats', '/v1/agent/seats/{trace_id}/answer', '/mcp']),
    );
    expect(paths['/mcp']?.post?.security).toEqual([]);
  });
});
