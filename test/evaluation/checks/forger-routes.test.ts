import { describe, expect, it, onTestFinished } from 'vitest';
import { createHost, openHosted } from '../../../src/environment/client/pool/hosted-link.ts';
import { connectMcp, type McpConnection } from '../../../src/environment/mcp-client/connection.ts';
import { openSse, openStreamableHttp } from '../../../src/environment/mcp-client/open-link.ts';
import { serve } from '../../../src/environment/server/serve.ts';
import { connectAsAgent } from '../../../src/evaluation/checks/player/agent-connection.ts';
import { forgeConnection } from '../../../src/evaluation/checks/tries/protocol-attack.ts';
import { asModule } from './check.ts';
import { createFill } from './unsound/fill.ts';

const PATIENCE = { timeout: 120_000 } as const;
const clientInfo = { name: 'agent', version: '1' };
const COUNTER = asModule('../../../environments/counter/environment.ts');

type Way = readonly [string, (skipsHandshake: boolean) => Promise<McpConnection>];

const WAYS: readonly Way[] = [
  [
    'over stdio',
    async (skipsHandshake) => (await connectAsAgent(COUNTER, { skipsHandshake, timeoutMs: 60_000 })) as McpConnection,
  ],
  [
    'in a host',
    async (skipsHandshake) => {
      if (COUNTER.kind !== 'module') throw new TypeError('It is a module');
      const host = createHost(COUNTER, { onLog: () => {} });
      onTestFinished(() => host.close());
      await host.start();
      const link = openHosted(
        COUNTER,
        (options) => host.connect(options),
        () => {},
        {},
      );
      return await connectMcp(link, { clientInfo, skipsHandshake });
    },
  ],
  [
    'over HTTP',
    async (skipsHandshake) => {
      const link = openStreamableHttp({ url: await serveFill('http') }, 1_000);
      return await connectMcp(link, { clientInfo, skipsHandshake });
    },
  ],
];

describe.each(WAYS)('a forger with a connection %s', PATIENCE, (_way, open) => {
  it.each([
    ['MCP with a session', false],
    ['MCP 2026-07-28', true],
  ])('reaches nothing of the harness by %s', async (_era, skipsHandshake) => {
    await expectNothing(await open(skipsHandshake));
  });
});

it('a forger with a connection over SSE reaches nothing of the harness', PATIENCE, async () => {
  const link = openSse({ url: await serveFill('sse') });
  await expectNothing(await connectMcp(link, { clientInfo }));
});

it('a forger whose declarations are believed is seen to reach the harness', PATIENCE, async () => {
  const url = await serveFill('http');
  const agent = await connectMcp(openStreamableHttp({ url }, 1_000), { clientInfo });
  const handshakeMeta = { 'svc/audience': 'harness', 'svc/harness_key': KEY };
  const harness = await connectMcp(openStreamableHttp({ url }, 1_000), { clientInfo, handshakeMeta });
  onTestFinished(async () => void (await Promise.all([agent.close(), harness.close()])));
  const request: McpConnection['request'] = (method, params, options) =>
    (params._meta?.['svc/audience'] === 'harness' ? harness : agent).request(method, params, options);
  const credulous = { request } as McpConnection;
  const { reached } = await forgeConnection(credulous, { scenarios: ['fill'], limitMs: 30_000 });
  expect(reached.join('\n')).toContain('resources/read of "svc://tasks/fill" with _meta');
});

async function expectNothing(connection: McpConnection): Promise<void> {
  onTestFinished(() => connection.close());
  const scenarios = ['count_to', 'fill'];
  const { reached, asked } = await forgeConnection(connection, {
    scenarios,
    paths: ['/etc/hostname'],
    limitMs: 30_000,
  });
  expect(reached).toEqual([]);
  expect(asked).toBeGreaterThan(400);
}

const KEY = 'k'.repeat(32);

async function serveFill(transport: 'http' | 'sse'): Promise<URL> {
  const handle = await serve(() => createFill(), { transport, port: 0, harnessKey: KEY, report: () => {} });
  onTestFinished(() => handle.close());
  return new URL(String(handle.url));
}
