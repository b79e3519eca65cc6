import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { StdioTransport } from '../../../src/environment/server/stdio/stdio-transport.ts';

const MIB = 1_024 * 1_024;

it('a message of more than 64 MiB over stdio ends the connection, and one that is cut into chunks does not', async () => {
  const input = new PassThrough();
  const transport = new StdioTransport(input, new PassThrough());
  const received: unknown[] = [];
  transport.onmessage = (message) => void received.push(message);
  const failed = new Promise<Error>((resolve) => {
    transport.onerror = resolve;
  });
  const closed = new Promise<void>((resolve) => {
    transport.onclose = resolve;
  });
  await transport.start();
  const message = { jsonrpc: '2.0', method: 'notifications/initialized' };
  const line = JSON.stringify(message);
  input.write(line.slice(0, 10));
  input.write(`${line.slice(10)}\r\n\n`);
  for (let sent = 0; sent <= 64; sent += 1) input.write('x'.repeat(MIB));
  expect((await failed).message).toBe('A message of more than 64 MiB');
  await closed;
  expect(received).toEqual([message]);
});
