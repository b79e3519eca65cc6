import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { createRequestLog } from '../../../src/environment/server/session/request-log.ts';
import { until } from '../../until.ts';
import { connectInMemory } from './clients.ts';

const createTeller = () =>
  new EnvironmentServer({ name: 'teller' }).tool('tell', {}, (_args, { log }) => {
    log.debug('debug');
    log('info');
    log.warning('warning');
    log.error('error');
  });

describe('the log of a tool', () => {
  it('has the level that the client set, on a session-based revision', async () => {
    const client = await connectInMemory(createTeller);
    const seen: unknown[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void seen.push(params.data));
    await client.callTool({ name: 'tell' });
    await client.setLoggingLevel('warning');
    await client.callTool({ name: 'tell' });
    await until(() => seen.length >= 6);
    expect(seen).toEqual(['debug', 'info', 'warning', 'error', 'warning', 'error']);
  });

  it('has on 2026-07-28 the level that the request names, and is silent without one', async () => {
    const client = await connectInMemory(createTeller, { mode: 'modern' });
    const seen: unknown[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void seen.push(params.data));
    await client.callTool({ name: 'tell' });
    await client.callTool({ name: 'tell', _meta: { 'io.modelcontextprotocol/logLevel': 'error' } });
    await client.listTools();
    expect(seen).toEqual(['error']);
  });

  it('drops what a client does not read, and says how many when it reads again', async () => {
    const sent: string[] = [];
    let read = () => {};
    const log = createRequestLog(async (_level, text) => {
      sent.push(text);
      await new Promise<void>((resolve) => {
        const before = read;
        read = () => {
          before();
          resolve();
        };
      });
    });
    for (let count = 0; count < 5_000; count += 1) log(`message ${count}`);
    expect(sent).toHaveLength(1_000);
    read();
    await until(() => sent.length > 1_000);
    expect(sent.at(-1)).toBe('4000 log messages were dropped, because they were not read in time');
    read();
    log('again');
    expect(sent.at(-1)).toBe('again');
  });

  it('counts long messages by their length', () => {
    const sent: string[] = [];
    const log = createRequestLog((_level, text) => {
      sent.push(text);
      return new Promise(() => {});
    });
    for (let count = 0; count < 100; count += 1) log('x'.repeat(256 * 1024));
    expect(sent).toHaveLength(4);
  });
});
