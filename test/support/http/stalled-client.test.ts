import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { letGoWhenStalled } from '../../../src/support/http/stalled-client.ts';
import { deferred } from './http-server.ts';

/** A reply of 64 MiB to a client that does not read by itself, and the end of its connection. */
async function open(stalledMs: number): Promise<{ readonly client: Socket; readonly ended: Promise<'whole' | 'cut'> }> {
  const ended = deferred<'whole' | 'cut'>();
  const server = createServer((_request, response: ServerResponse) => {
    const write = letGoWhenStalled(response, { stalledMs });
    response.on('close', () => ended.resolve(response.writableFinished ? 'whole' : 'cut'));
    let left = 256;
    const send = () => {
      while (left-- > 0) if (!write(Buffer.alloc(256 * 1024))) return;
      response.end();
    };
    response.on('drain', send);
    send();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => {}).pause();
  client.write('GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  return { client, ended: ended.promise };
}

it('a client that takes nothing of a reply any more is let go', async () => {
  const { ended } = await open(400);
  expect(await ended).toBe('cut');
});

it('a client that is slow gets all of it, however long that takes', async () => {
  // The clock of the checks is faked: one check for each 4 MiB that the client reads, far more checks than it may miss.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const checkMs = 1_000;
  const { client, ended } = await open(4 * checkMs);
  let size = 0;
  let checks = 0;
  client.on('data', (piece) => {
    size += piece.length;
    if (size < (checks + 1) * 4 * 1024 * 1024) return;
    checks += 1;
    vi.advanceTimersByTime(checkMs);
  });
  client.resume();
  expect(await ended).toBe('whole');
  expect(checks).toBeGreaterThan(4);
});
