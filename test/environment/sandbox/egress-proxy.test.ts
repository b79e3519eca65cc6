import * as http from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import * as tls from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../../src/environment/sandbox/network/addresses.ts';
import { findRule, parseAllowList } from '../../../src/environment/sandbox/network/allow-list.ts';
import { readServerName } from '../../../src/environment/sandbox/network/client-hello.ts';
import { EgressGate } from '../../../src/environment/sandbox/network/egress-gate.ts';
import { createEgressProxy, type Refusal } from '../../../src/environment/sandbox/network/egress-proxy.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A server that records what it gets, and answers with `reply` at once. */
async function openTarget(reply = ''): Promise<{ port: number; got: () => string; connections: () => number }> {
  let got = '';
  let connections = 0;
  const server: Server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      got += chunk.toString('latin1');
    });
    if (reply !== '') socket.write(reply);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  return { port: (server.address() as AddressInfo).port, got: () => got, connections: () => connections };
}

async function openProxy(allow: readonly string[], names: Readonly<Record<string, string>> = {}) {
  const refusals: Refusal[] = [];
  const lookup = async (name: string) => {
    const address = names[name];
    if (address === undefined) throw new Error('unknown name');
    return [address];
  };
  const proxy = createEgressProxy({ allow, lookup, onRefused: (refusal) => refusals.push(refusal) });
  closers.push(() => proxy.close());
  const { port } = await proxy.listen({ host: '127.0.0.1' });
  const pair = Buffer.from(`${proxy.credential.name}:${proxy.credential.password}`).toString('base64');
  return { port, authorization: `Basic ${pair}`, refusals, proxy };
}

/** Sends a CONNECT and gives the status line and the open socket. */
function tunnel(port: number, target: string, authorization?: string): Promise<{ status: number; socket: Socket }> {
  return new Promise((resolve, reject) => {
    const headers = authorization === undefined ? {} : { 'proxy-authorization': authorization };
    const request = http.request({ host: '127.0.0.1', port, method: 'CONNECT', path: target, headers });
    request.once('error', reject);
    request.once('connect', (response, socket, head) => {
      closers.push(() => socket.destroy());
      socket.on('error', () => {});
      socket.unshift(head);
      resolve({ status: response.statusCode ?? 0, socket });
    });
    request.end();
  });
}

function get(port: number, url: string, authorization?: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { ...(authorization && { 'proxy-authorization': authorization }), host: 'other.test' };
    const request = http.request({ host: '127.0.0.1', port, path: url, headers }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.once('error', reject);
    request.end();
  });
}

describe('an allow list', () => {
  const rules = parseAllowList([
    'Example.org',
    '*.example.net',
    '10.0.0.0/8:5432',
    '[2001:db8::1]:8443',
    'pypi.org:8080',
  ]);
  it.each([
    ['example.org', 443, true],
    ['EXAMPLE.ORG.', 80, true],
    ['www.example.org', 443, false],
    ['example.org', 22, false],
    ['a.b.example.net', 443, true],
    ['example.net', 443, false],
    ['badexample.net', 443, false],
    ['10.1.2.3', 5432, true],
    ['10.1.2.3', 443, false],
    ['::ffff:10.1.2.3', 5432, true],
    ['0x0a.1.2.3', 5432, false],
    ['2001:DB8:0::1', 8443, true],
    ['pypi.org', 443, false],
    ['pypi.org', 8080, true],
    ['example.org\u0000.evil.test', 443, false],
  ])('decides about %s at port %i: %s', (host, port, isAllowed) => {
    expect(findRule(rules, host, port) !== undefined).toBe(isAllowed);
  });

  it.each([
    '',
    '*',
    'http://example.org',
    'a b',
    '10.0.0.0/33',
    '10.1',
    'example.org:0',
    'example.org:99999',
    '*.*.org',
  ])('refuses %j with the text and the way out', (text) => {
    expect(() => parseAllowList([text])).toThrow(`network.allow has ${JSON.stringify(text)}. Name a host`);
  });
});

describe('an address', () => {
  it.each([
    ['93.184.216.34', true],
    ['2606:2800:220:1::1', true],
    ['127.0.0.1', false],
    ['169.254.169.254', false],
    ['100.100.100.200', false],
    ['::ffff:169.254.169.254', false],
    ['::ffff:a9fe:a9fe', false],
    ['64:ff9b::a9fe:a9fe', false],
    ['fd00::1', false],
    ['fe80::1%eth0', false],
    ['::1', false],
    ['0.0.0.0', false],
    ['not an address', false],
  ])('%s is public: %s', (address, isPublic) => {
    expect(isPublicAddress(address)).toBe(isPublic);
  });
});

describe('the proxy of a sandbox', () => {
  it('lets nobody through without the credential of the sandbox, and tells no refusal', async () => {
    const target = await openTarget();
    const allow = [`127.0.0.1:${target.port}`];
    const mine = await openProxy(allow);
    const other = await openProxy(allow);
    for (const authorization of [undefined, 'Basic bm9wZTpub3Bl', other.authorization]) {
      expect((await tunnel(mine.port, `127.0.0.1:${target.port}`, authorization)).status).toBe(407);
      expect((await get(mine.port, `http://127.0.0.1:${target.port}/`, authorization)).status).toBe(407);
    }
    expect([target.connections(), mine.refusals]).toEqual([0, []]);
  });

  it('refuses a destination that is not listed, by name, address and port, and tells each', async () => {
    const { port, authorization, refusals } = await openProxy(['allowed.test']);
    for (const target of ['pypi.org:443', '169.254.169.254:80', 'allowed.test:22']) {
      expect((await tunnel(port, target, authorization)).status).toBe(403);
    }
    expect(await get(port, 'http://pypi.org/simple', authorization)).toEqual({
      status: 403,
      text: 'pypi.org:80 is not reachable from this sandbox.',
    });
    expect(refusals).toEqual(
      [
        ['pypi.org', 443] as const,
        ['169.254.169.254', 80] as const,
        ['allowed.test', 22] as const,
        ['pypi.org', 80] as const,
      ].map(([host, refused]) => ({ host, port: refused, reason: 'is not on the allow list' })),
    );
  });

  it('refuses a name that leads to a private address, unless a range of the list has that address', async () => {
    const target = await openTarget();
    const names = { 'inside.test': '127.0.0.1', 'metadata.test': '169.254.169.254' };
    const closed = await openProxy([`inside.test:${target.port}`, 'metadata.test'], names);
    expect((await tunnel(closed.port, `inside.test:${target.port}`, closed.authorization)).status).toBe(403);
    expect((await tunnel(closed.port, 'metadata.test:80', closed.authorization)).status).toBe(403);
    expect(closed.refusals.map((each) => each.reason)).toEqual([
      'leads to 127.0.0.1, which is not public and on no range of the allow list',
      'leads to 169.254.169.254, which is not public and on no range of the allow list',
    ]);
    const open = await openProxy([`inside.test:${target.port}`, `127.0.0.0/8:${target.port}`], names);
    expect((await tunnel(open.port, `inside.test:${target.port}`, open.authorization)).status).toBe(200);
  });

  it('gives the address that it has looked up once, and a public one without a range', async () => {
    const gate = new EgressGate(
      { allow: ['allowed.test'], onRefused: () => {}, lookup: async () => ['10.0.0.1', '93.184.216.34'] },
      { name: 'a', password: 'b' },
    );
    expect(await gate.open('Allowed.Test', 443)).toEqual({ host: 'allowed.test', port: 443, address: '93.184.216.34' });
  });

  it('ends a TLS connection that asks for another host than it was let through for, before a byte is passed on', async () => {
    const target = await openTarget();
    const allow = [`front.test:${target.port}`, `127.0.0.1:${target.port}`];
    const { port, authorization, refusals } = await openProxy(allow, { 'front.test': '127.0.0.1' });
    const askFor = async (servername: string) => {
      const { socket } = await tunnel(port, `front.test:${target.port}`, authorization);
      const secure = tls.connect({ socket, servername });
      secure.on('error', () => {});
      return socket;
    };
    const wrong = await askFor('evil.test');
    await new Promise((resolve) => wrong.once('close', resolve));
    expect(target.got()).toBe('');
    expect(refusals).toEqual([
      {
        host: 'evil.test',
        port: target.port,
        reason: 'was asked for in a TLS handshake on a connection to front.test',
      },
    ]);
    await askFor('FRONT.test');
    await expect.poll(() => readServerName(Buffer.from(target.got(), 'latin1'))).toEqual({ name: 'FRONT.test' });
  });

  it('passes what a server says first, and both directions afterwards', async () => {
    const target = await openTarget('220 ready\r\n');
    const { port, authorization } = await openProxy([`127.0.0.1:${target.port}`]);
    const { socket } = await tunnel(port, `127.0.0.1:${target.port}`, authorization);
    const greeting = await new Promise((resolve) => socket.once('data', (chunk) => resolve(chunk.toString())));
    expect(greeting).toBe('220 ready\r\n');
    socket.write('HELO me\r\n');
    await expect.poll(() => target.got()).toBe('HELO me\r\n');
  });

  it('sends a plain request with the host that was allowed, without what belongs to the proxy', async () => {
    const seen: http.IncomingHttpHeaders[] = [];
    const server = http.createServer((request, response) => {
      seen.push(request.headers);
      response.end(`you asked for ${request.url}`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => server.close());
    const { port: target } = server.address() as AddressInfo;
    const { port, authorization } = await openProxy([`127.0.0.1:${target}`]);
    const reply = await get(port, `http://127.0.0.1:${target}/a?b=c`, authorization);
    expect(reply).toEqual({ status: 200, text: 'you asked for /a?b=c' });
    expect(seen).toEqual([{ host: `127.0.0.1:${target}`, connection: 'close' }]);
    expect((await get(port, '/relative', authorization)).status).toBe(400);
  });

  it.each([
    ['no status that exists', 'HTTP/1.1 000 Zero\r\ncontent-length: 0\r\n\r\n'],
    ['a change of the protocol', 'HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n'],
  ])('answers 502 for a server that replies with %s', async (_what, reply) => {
    const target = await openTarget(reply);
    const { port, authorization } = await openProxy([`127.0.0.1:${target.port}`]);
    expect((await get(port, `http://127.0.0.1:${target.port}/`, authorization)).status).toBe(502);
  });

  it('closes with all its connections, and opens no new one', async () => {
    const target = await openTarget();
    const { port, authorization, proxy } = await openProxy([`127.0.0.1:${target.port}`]);
    const { socket } = await tunnel(port, `127.0.0.1:${target.port}`, authorization);
    const gone = new Promise((resolve) => socket.once('close', resolve));
    await proxy.close();
    await gone;
    const refused = new Promise((resolve) =>
      connect(port, '127.0.0.1').once('error', (error) => resolve(String(error))),
    );
    expect(await refused).toContain('ECONNREFUSED');
    await expect(proxy.listen({ host: '127.0.0.1' })).rejects.toThrow('is closed');
  });
});

describe('the name in a TLS handshake', () => {
  it('is found however the handshake is cut into records and chunks, and not in other bytes', async () => {
    const target = await openTarget();
    const socket = connect(target.port, '127.0.0.1');
    closers.push(() => socket.destroy());
    tls.connect({ socket, servername: 'name.test' }).on('error', () => {});
    await expect.poll(() => target.got().length).toBeGreaterThan(100);
    const hello = Buffer.from(target.got(), 'latin1');
    expect(readServerName(hello)).toEqual({ name: 'name.test' });
    const body = hello.subarray(5);
    const record = (part: Buffer) =>
      Buffer.concat([Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part]);
    expect(
      readServerName(
        Buffer.concat([record(body.subarray(0, 3)), record(body.subarray(3, 60)), record(body.subarray(60))]),
      ),
    ).toEqual({
      name: 'name.test',
    });
    for (let length = 1; length < hello.length; length += 1)
      expect(readServerName(hello.subarray(0, length))).toBe('more');
    expect(readServerName(Buffer.from('GET / HTTP/1.1\r\n'))).toBe('none');
    expect(readServerName(Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0]))).toBe('none');
  });
});
