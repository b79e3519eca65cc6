import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { listen } from '../../../src/support/http/listen.ts';
import { deferred, send } from './http-server.ts';

test('a port in use is an error that says so', async () => {
  const listener = await listen(() => {}, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => listener.close());
  await expect(listen(() => {}, { host: '127.0.0.1', port: listener.port })).rejects.toThrow(
    `Port ${listener.port} on 127.0.0.1 is in use: stop what listens there, or choose another port.`,
  );
});

test('an address that this machine does not have is an error that says so', async () => {
  await expect(listen(() => {}, { host: '192.0.2.1', port: 0 })).rejects.toThrow(
    '192.0.2.1 is not an address of this machine.',
  );
});

test('an idle connection is kept for longer than clients and proxies keep theirs', async () => {
  const listener = await listen((_request, response) => response.end('ok'), { host: '127.0.0.1', port: 0 });
  onTestFinished(() => listener.close());
  const { headers } = await send(listener.url, '/', { headers: { connection: 'keep-alive' } });
  expect(headers['keep-alive']).toBe('timeout=75');
});

test('close ends idle connections at once and lets a running request finish', async () => {
  const running = deferred<() => void>();
  const listener = await listen(
    (request, response) => {
      if (request.url === '/slow') running.resolve(() => response.end('done'));
      else response.end('ok');
    },
    { host: '127.0.0.1', port: 0 },
  );
  const idle = connect(listener.port, '127.0.0.1');
  idle.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(idle, 'data');
  const idleEnded = once(idle, 'close');
  const slow = send(listener.url, '/slow', { headers: { connection: 'keep-alive' } });
  const finish = await running.promise;
  const closed = listener.close(20_000);
  await idleEnded;
  finish();
  expect((await slow).text).toBe('done');
  await closed;
  await expect(send(listener.url, '/')).rejects.toThrow('ECONNREFUSED');
});

test('close ends a request that does not finish in time', async () => {
  const started = deferred<void>();
  const listener = await listen(() => started.resolve(), { host: '127.0.0.1', port: 0 });
  const hanging = send(listener.url, '/').catch((error: Error) => error);
  await started.promise;
  await listener.close(20);
  expect(await hanging).toBeInstanceOf(Error);
  await listener.close();
});

test('the url of a wildcard address can be opened and that of an IPv6 address has its brackets', async () => {
  const everywhere = await listen((_request, response) => void response.end('ok'), { host: '0.0.0.0', port: 0 });
  onTestFinished(() => everywhere.close());
  expect(everywhere.url).toBe(`http://localhost:${everywhere.port}`);
  expect((await send(everywhere.url, '/')).text).toBe('ok');
});

test('every response of a connection that has ended is closed, those that waited behind another too', async () => {
  const closed: (string | undefined)[] = [];
  const arrived = deferred<void>();
  const allClosed = deferred<void>();
  const listener = await listen(
    (request, response) => {
      response.once('close', () => {
        expect(response.destroyed).toBe(true);
        if (closed.push(request.url) === 4) allClosed.resolve();
      });
      if (request.url === '/done') response.end('done');
      if (request.url === '/last') arrived.resolve();
    },
    { host: '127.0.0.1', port: 0 },
  );
  onTestFinished(() => listener.close());
  const client = connect(listener.port, '127.0.0.1');
  for (const path of ['/first', '/second', '/done', '/last']) client.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await arrived.promise;
  client.destroy();
  await allClosed.promise;
  expect(closed.sort()).toEqual(['/done', '/first', '/last', '/second']);
});

test('a response is closed once where its turn had come when the connection ended', async () => {
  const closed: (string | undefined)[] = [];
  const both = deferred<void>();
  const listener = await listen(
    (request, response) => {
      response.once('socket', () => client.destroy());
      response.on('close', () => {
        closed.push(request.url);
        if (request.url === '/second') both.resolve();
      });
      if (request.url === '/first') setImmediate(() => response.end('ok'));
    },
    { host: '127.0.0.1', port: 0 },
  );
  onTestFinished(() => listener.close());
  const client = connect(listener.port, '127.0.0.1');
  client.write('GET /first HTTP/1.1\r\nHost: x\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\n\r\n');
  await both.promise;
  expect(closed).toEqual(['/first', '/second']);
});

test('closing does not wait for a connection that was opened and never used', async () => {
  const listener = await listen((_request, response) => response.end('ok'), { host: '127.0.0.1', port: 0 });
  const client = connect(listener.port, '127.0.0.1');
  onTestFinished(() => void client.destroy());
  await once(client, 'connect');
  const ended = once(client, 'close');
  client.on('error', () => {}); // It is cut off.
  // It would else be the budget that ends it.
  await listener.close(600_000);
  await ended;
});
