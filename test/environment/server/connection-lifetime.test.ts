import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { InMemoryTransport } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { until } from '../../until.ts';
import { isRunning } from '../client/processes.ts';
import { everything, odd } from '../composition/servers.ts';
import { connectInMemory, errorOf } from './clients.ts';
import { addTo, call, environment, received, temporaryFolder, toolNames } from './composed.ts';

describe('the connection', () => {
  it('is each session’s own, and ends with it', async () => {
    const source = environment(odd('plain'));
    const [one, two] = [await connectInMemory(source), await connectInMemory(source)];
    const pids = [(await received(one)).pid, (await received(two)).pid];
    expect(new Set(pids).size).toBe(2);
    await one.close();
    await until(() => !isRunning(pids[0] as number));
    expect(isRunning(pids[1] as number)).toBe(true);
  });

  it('is each session’s own with a shared instance too', async () => {
    const shared = environment(odd('plain'))();
    const [one, two] = [await connectInMemory(shared), await connectInMemory(shared)];
    expect((await received(one)).pid).not.toBe((await received(two)).pid);
  });

  it('is opened before the initialize hooks, and not by making the environment or by discovery', async () => {
    const order: string[] = [];
    const make = () => {
      order.push('connected');
      return addTo(new McpServer({ name: 'inner', version: '1' }));
    };
    const source = () =>
      environment({ server: make })().initialize(() => {
        order.push('hook');
      });
    const client = await connectInMemory(source, { mode: 'modern' });
    expect(order).toEqual([]);
    await toolNames(client);
    await toolNames(client);
    expect(order).toEqual(['connected']);
    await call(client, 'own');
    expect(order).toEqual(['connected', 'hook']);
  });

  it('asks a function for its target once in a session, and tells the close hooks of a session that only listed', async () => {
    const events: string[] = [];
    const source = () =>
      new EnvironmentServer({ name: 'composed' })
        .connect('other', async () => {
          events.push('target');
          return odd('plain');
        })
        .close(() => void events.push('close'));
    const client = await connectInMemory(source, { mode: 'modern' });
    await toolNames(client);
    await call(client, 'exit');
    await received(client);
    expect(events).toEqual(['target']);
    const listing = await connectInMemory(source, { mode: 'modern' });
    await toolNames(listing);
    await listing.close();
    await until(() => events.includes('close'));
    expect(events).toEqual(['target', 'target', 'close']);
    const reports: string[] = [];
    const broken = () => new EnvironmentServer({ name: 'composed' }).connect('other', () => ({ command: '' }));
    await errorOf(connectInMemory(broken, { report: (text) => reports.push(text) }));
    expect(reports.join('\n')).toContain('its target failed: Connection "other": command has to be');
  });

  it('leaves no process behind when one of several fails, or hangs while it starts', async () => {
    const folder = await temporaryFolder();
    const pidFile = join(folder, 'pid');
    const noting = `require('node:fs').writeFileSync(${JSON.stringify(pidFile)}, String(process.pid)); process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)`;
    const source = () =>
      environment(odd('plain'))().connect('hanging', { command: process.execPath, args: ['-e', noting] });
    const [clientTransport, serverTransport] = InMemoryTransport.createLinkedPair();
    const { serveConnection } = await import('../../../src/environment/server/serve-connection.ts');
    const { EnvironmentHost } = await import('../../../src/environment/server/environment-host.ts');
    const authority = { harnessKey: undefined, isPeerTrusted: true };
    const host = new EnvironmentHost(source, { authority, report: () => {} });
    serveConnection(host, serverTransport);
    await clientTransport.start();
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };
    await clientTransport.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    await until(() => pidOf(pidFile) !== undefined);
    await host.close(5_000);
    expect(isRunning(pidOf(pidFile) as number)).toBe(false);
  });

  it.each([
    [{}, 'one of the three; got an object with the keys []'],
    [{ command: 'a', url: 'http://x' }, 'one of the three'],
    [{ command: '' }, 'command has to be'],
    [{ command: 'a', args: [1] }, 'args has to be'],
    [{ url: 'ftp://user:secret@x' }, 'has to be an address that starts with http'],
    [{ server: 'x' }, 'server has to be'],
  ])('is refused at registration for what is none: %j', (target, message) => {
    expect(() => environment(target as never)()).toThrow(message);
    expect(() => environment(target as never)()).not.toThrow('secret');
  });

  it('is refused at registration for a bad name, prefix, audience or pattern, and for a name that is taken', () => {
    const env = environment(everything)();
    expect(() => env.connect('other', everything)).toThrow('already has a connection named "other"');
    expect(() => env.connect('a b', everything)).toThrow('Connection name "a b"');
    expect(() => env.connect('a', everything, { prefix: 'a.b' })).toThrow('prefix');
    expect(() => env.connect('a', everything, { audience: 'all' as never })).toThrow('audience');
    expect(() => env.connect('a', everything, { include: 'x' as never })).toThrow('include has to be a list');
  });
});

function pidOf(file: string): number | undefined {
  try {
    return Number(readFileSync(file, 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}
