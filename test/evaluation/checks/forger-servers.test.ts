import { describe, expect, it, onTestFinished } from 'vitest';
import { connectMcp, type McpConnection } from '../../../src/environment/mcp-client/connection.ts';
import { openStreamableHttp } from '../../../src/environment/mcp-client/open-link.ts';
import { forgeConnection } from '../../../src/evaluation/checks/tries/protocol-attack.ts';
import { addressOf, openSeat, secretOf } from '../../rollout/seats/seat.ts';
import { serve } from '../../service/chat/server.ts';
import { startService } from '../../service/runs/service.ts';
import { send } from '../../support/http/http-server.ts';

const PATIENCE = { timeout: 120_000 } as const;
const ERAS = [
  ['MCP with a session', false],
  ['MCP 2026-07-28', true],
] as const;

async function connect(address: string, skipsHandshake: boolean): Promise<McpConnection> {
  const link = openStreamableHttp({ url: new URL(address) }, 1_000);
  const connection = await connectMcp(link, { clientInfo: { name: 'agent', version: '1' }, skipsHandshake });
  onTestFinished(() => connection.close());
  return connection;
}

/** The connection works before and after: a refusal was one of the server's, and not the silence of a dead line. */
async function forge(connection: McpConnection, listed: readonly string[]): Promise<readonly string[]> {
  const names = async () => {
    const { tools } = (await connection.request('tools/list', {})) as { readonly tools: readonly { name: string }[] };
    return tools.map(({ name }) => name);
  };
  expect(await names()).toEqual(listed);
  const { reached, asked } = await forgeConnection(connection, {
    scenarios: ['count_to', 'slow_count'],
    paths: ['/etc/hostname'],
    limitMs: 30_000,
  });
  expect(asked).toBeGreaterThan(400);
  expect(await names()).toEqual(listed);
  return reached;
}

describe('a forger at a seat', PATIENCE, () => {
  it.each(ERAS)('reaches nothing of the harness by %s', async (_era, skipsHandshake) => {
    const service = await startService();
    const connection = await connect(addressOf(await openSeat(service)), skipsHandshake);
    expect(await forge(connection, ['increment', 'read', 'slow_increment', 'submit_answer'])).toEqual([]);
  });

  it('reads, ends and starts nothing by tricks of paths and cookies', async () => {
    const service = await startService();
    const seat = await openSeat(service);
    const secret = secretOf(seat);
    const other = seat.trace_id;
    const routes = [`v1/traces/${other}`, `v1/traces/${other}/events`, `traces/${other}`, 'v1/agent/seats', 'v1/usage'];
    const dots = ['..', '%2e%2e', '%2E.', '..%2f..', '..;', '..%5c', '.%00.'];
    const paths = routes.flatMap((route) => [
      `/${route}`,
      `/${route}?key=${secret}`,
      `/r/${secret}/${route}`,
      `//${route}`,
      `/${route}/`,
      `/mcp/../${route}`,
      ...dots.flatMap((dot) => [
        `/r/${secret}/${dot}/${dot}/${route}`,
        `/r/${secret}/mcp/${dot}/${dot}/${dot}/${route}`,
      ]),
    ]);
    const disguises: readonly Readonly<Record<string, string>>[] = [
      { authorization: `Bearer ${secret}` },
      { cookie: `proctor_session=${secret}; proctor=${secret}; __proto__=1; account=local` },
      { 'x-goog-api-key': secret, 'x-api-key': secret, 'x-forwarded-prefix': '/v1', 'x-original-url': '/v1/traces' },
    ];
    const reached: string[] = [];
    for (const path of paths) {
      for (const headers of disguises) {
        for (const method of ['GET', 'POST', 'DELETE'] as const) {
          const body = method === 'POST' ? { body: '{}' } : {};
          const reply = await send(service.url, path, {
            method,
            headers: { 'content-type': 'application/json', ...headers },
            ...body,
          });
          const isPage = String(reply.headers['content-type']).startsWith('text/html') && !reply.text.includes(secret);
          if (reply.status < 400 && !isPage && !reply.text.includes('Sign in')) {
            reached.push(`${method} ${path} ${JSON.stringify(headers)}: ${reply.status} ${reply.text.slice(0, 80)}`);
          }
        }
      }
    }
    expect(reached.map((each) => each.replaceAll(secret, '<secret>'))).toEqual([]);
    expect(await service.store.trace(other)).toMatchObject({ status: 'running', reward: null });
  });
});

describe('a forger at the scenario server', PATIENCE, () => {
  it.each(ERAS)('reaches nothing but what an agent has by %s', async (_era, skipsHandshake) => {
    const server = await serve();
    const connection = await connect(`${server.url}/mcp`, skipsHandshake);
    const { tools } = (await connection.request('tools/list', {})) as { readonly tools: readonly { name: string }[] };
    expect(
      await forge(
        connection,
        tools.map(({ name }) => name),
      ),
    ).toEqual([]);
  });
});
