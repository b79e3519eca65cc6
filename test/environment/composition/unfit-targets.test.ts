import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { type ConnectionTarget, EnvironmentServer } from 'proctor';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { serve } from '../../../src/environment/server/serve.ts';
import { until } from '../../until.ts';
import { isRunning } from '../client/processes.ts';
import { connectInMemory, errorOf, serveHttp, textOf } from '../server/clients.ts';

const RECURSIVE = fileURLToPath(new URL('./fixtures/recursive.mjs', import.meta.url));

function connected(target: () => ConnectionTarget, name = 'composed'): EnvironmentServer {
  return new EnvironmentServer({ name }).connect('other', target);
}

/** What the log says of an environment that cannot be initialized. */
async function reasonOf(environment: () => EnvironmentServer): Promise<string> {
  const reports: string[] = [];
  const { message } = await errorOf(connectInMemory(environment, { report: (text) => reports.push(text) }));
  expect(message).toContain('could not be initialized');
  return reports.join('\n');
}

async function httpServer(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

describe('an environment that is connected to itself is refused', () => {
  it('by its own factory', async () => {
    let made = 0;
    const itself = (): EnvironmentServer => {
      made += 1;
      return connected(() => ({ server: itself }));
    };
    expect(await reasonOf(itself)).toContain('its server is this environment itself');
    expect(made).toBe(1);
  });

  it('by way of another', async () => {
    const one = (): EnvironmentServer => connected(() => ({ server: two }), 'one');
    const two = (): EnvironmentServer => connected(() => ({ server: one }), 'two');
    expect(await reasonOf(one)).toContain('or one that is connected to this one');
  });

  it('by a new function each time, four deep', async () => {
    let made = 0;
    const itself = (): EnvironmentServer => {
      made += 1;
      return connected(() => ({ server: () => itself() }));
    };
    expect(await reasonOf(itself)).toContain('more than 4 deep: is one connected to itself?');
    expect(made).toBeLessThan(10);
  });

  it('by processes of its own file', { timeout: 30_000 }, async () => {
    const target = { command: process.execPath, args: [RECURSIVE] };
    const reason = await reasonOf(() => connected(() => target));
    expect(reason).toContain('more than 4 deep: is one connected to itself?');
    const pids = [...reason.matchAll(/made in (\d+)/g)].map(([, pid]) => Number(pid));
    expect(new Set(pids).size).toBe(4);
    await until(() => !pids.some(isRunning));
  });

  it('by its own address', async () => {
    const reports: string[] = [];
    let url = '';
    const itself = () => connected(() => ({ url }));
    const handle = await serve(itself, { transport: 'http', port: 0, report: (text) => reports.push(text) });
    onTestFinished(() => handle.close());
    url = String(handle.url);
    await reasonOf(itself);
    expect(reports.join('\n')).toContain('more than 4 deep: is one connected to itself?');
  });
});

it('a program that prints without end, and no message, is told of 100 times', async () => {
  const target = { command: process.execPath, args: ['-e', 'for (let at = 0; at < 5_000; at += 1) console.log(at)'] };
  const reason = await reasonOf(() => connected(() => target));
  expect(reason.match(/other: Not a message of the protocol/g)).toHaveLength(100);
  expect(reason).toContain('(further ones are not logged)');
});

describe('the address of a connected server', () => {
  it('that redirects elsewhere is told, and the headers of the target reach nobody else', async () => {
    const seen: unknown[] = [];
    const elsewhere = await httpServer(({ headers }, response) => {
      seen.push(headers);
      response.writeHead(500).end();
    });
    const url = await httpServer((_request, response) => {
      response.writeHead(307, { location: elsewhere }).end();
    });
    const reason = await reasonOf(() => connected(() => ({ url, headers: { 'x-api-key': 'secret' } })));
    expect(reason).toContain('it answered HTTP 307, a redirect to another address');
    expect(reason).not.toContain('secret');
    expect(seen).toEqual([]);
  });

  it('is not asked by the fetch of Node.js, which gives up a call after five minutes', async () => {
    const url = await serveHttp(() => new EnvironmentServer({ name: 'far' }).tool('far', {}, () => 'done'));
    vi.stubGlobal('fetch', () => Promise.reject(new Error('the fetch of Node.js')));
    onTestFinished(() => void vi.unstubAllGlobals());
    const client = await connectInMemory(() => connected(() => ({ url })));
    expect(textOf(await client.callTool({ name: 'far' }))).toBe('done');
  });
});
