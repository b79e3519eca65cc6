import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import type { BoundaryError } from '../../../src/contract/errors.ts';
import { connectEnvironment } from '../../../src/environment/client/connect.ts';
import type { ConnectOptions, EnvironmentClient } from '../../../src/environment/client/environment-client.ts';

type Message = { id?: number; method: string; params: Record<string, unknown> };
type Answer = (message: Message, request: IncomingMessage, response: ServerResponse) => unknown;

const servers: Server[] = [];
const clients: EnvironmentClient[] = [];

/** An MCP server by hand, to do what no library does. `answer` returns a result, or undefined when it replied itself. */
async function listen(answer: Answer): Promise<string> {
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(request.method === 'DELETE' ? 200 : 405).end();
      return;
    }
    const message: Message = JSON.parse(await text(request));
    const result = answer(message, request, response) ?? handshake(message);
    if (response.headersSent || response.destroyed || result === HANG) return;
    if (message.id === undefined) response.writeHead(202).end();
    else {
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
    }
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

const HANG = Symbol('no answer');

function handshake({ method, params }: Message): unknown {
  if (method !== 'initialize') return undefined;
  const serverInfo = { name: 'far', version: '1' };
  return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo };
}

async function connect(url: string, options: ConnectOptions = {}): Promise<EnvironmentClient> {
  const client = await connectEnvironment({ kind: 'url', url, headers: { authorization: 'Bearer abc' } }, options);
  clients.push(client);
  return client;
}

function messageOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'no failure',
    (error: BoundaryError) => `${error.boundary}: ${error.message}`,
  );
}

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

describe('an environment at an address', () => {
  it('gets the headers of its target with every request, and the end of its session', async () => {
    const seen: (string | undefined)[] = [];
    const url = await listen((_message, request) => {
      seen.push(request.headers.authorization);
      return undefined;
    });
    const ended = new Promise<string | undefined>((resolve) => {
      servers[0]?.on('request', (request) => {
        if (request.method === 'DELETE') resolve(request.headers['mcp-session-id'] as string);
      });
    });
    const client = await connect(url);
    expect(client.name).toBe('far');
    await client.close();
    expect(await ended).toBe('one');
    expect(seen).toEqual(['Bearer abc', 'Bearer abc']);
  });

  it('that nobody serves: the failure has the address and says what to check', async () => {
    const url = await listen(() => undefined);
    await new Promise((resolve) => servers.pop()?.close(resolve));
    const message = await messageOf(connect(`${url}?token=secret`));
    expect(message).toBe(
      `environment: The environment ${url} could not be reached while connecting: ` +
        `connect ECONNREFUSED ${new URL(url).host}. Check that it runs and that its address is right`,
    );
  });

  it('that is no address is refused', async () => {
    expect(await messageOf(connect('127.0.0.1'))).toBe(
      'environment: "127.0.0.1" is not an address of an environment: it has to start with http:// or https://',
    );
    expect(await messageOf(connect('ftp://localhost/mcp'))).toContain('it has to start with http:// or https://');
  });

  it.each([
    [401, 'Give it the credential that the server asks for: "headers" of the environment in the configuration.'],
    [404, 'nothing serves MCP at this address'],
    [503, 'answered HTTP 503 while connecting: not now'],
  ])('that answers %i: the failure has the status and the way out', async (status, remedy) => {
    const url = await listen((_message, _request, response) => response.writeHead(status).end('not now'));
    const message = await messageOf(connect(url));
    expect(message).toContain(`environment: The environment ${url} answered HTTP ${status} while connecting: not now`);
    expect(message).toContain(remedy);
  });

  it('that does not answer is given up at the limit', async () => {
    const url = await listen(() => HANG);
    expect(await messageOf(connect(url, { timeoutMs: 100 }))).toBe(
      `environment: The environment ${url} did not finish connecting within 100 ms. ` +
        'Its initialize hook or the network takes too long',
    );
  });

  it('that takes the handshake and then falls silent is given up too', async () => {
    const url = await listen((message) => (message.method === 'initialize' ? undefined : HANG));
    expect(await messageOf(connect(url, { timeoutMs: 200 }))).toContain('did not finish connecting within 200 ms');
  });

  it('that cuts the stream of a call: the call fails, and later ones work', async () => {
    let calls = 0;
    const url = await listen((message, _request, response) => {
      if (message.method !== 'tools/call') return undefined;
      calls += 1;
      if (calls > 1) return { content: [] };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': working\n\n');
      setImmediate(() => response.destroy());
      return HANG;
    });
    const client = await connect(url);
    expect(await messageOf(client.call('work', {}))).toBe(
      'tool: The environment "far" failed while running the tool "work": the connection was lost before it had answered',
    );
    expect(await client.call('work', {})).toMatchObject({ is_error: false });
  });

  it('that ends the stream of a call without an answer: the call fails', async () => {
    const url = await listen((message, _request, response) => {
      if (message.method !== 'tools/call') return undefined;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return response.end(': nothing to say\n\n');
    });
    const client = await connect(url);
    expect(await messageOf(client.call('work', {}))).toContain('the connection was lost before it had answered');
  });

  it('that sends progress together with the answer: none is lost', async () => {
    const url = await listen((message, _request, response) => {
      if (message.method !== 'tools/call') return undefined;
      const { progressToken } = message.params._meta as { progressToken: string };
      const event = (body: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...body })}\n\n`;
      const progress = (step: number) => ({ progressToken, progress: step, total: 2, message: `step ${step}` });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return response.end(
        event({ method: 'notifications/progress', params: progress(1) }) +
          event({ method: 'notifications/progress', params: progress(2) }) +
          event({ id: message.id, result: { content: [] } }),
      );
    });
    const client = await connect(url);
    const steps: unknown[] = [];
    await client.call('work', {}, { onProgress: (step) => steps.push(step) });
    expect(steps).toEqual([
      { progress: 1, total: 2, message: 'step 1' },
      { progress: 2, total: 2, message: 'step 2' },
    ]);
  });

  it('that has forgotten the session: the failure says so', async () => {
    const url = await listen((message, _request, response) => {
      if (message.method !== 'tools/call') return undefined;
      return response.writeHead(404).end();
    });
    const client = await connect(url);
    expect(await messageOf(client.call('work', {}))).toContain('answered HTTP 404 while running the tool "work"');
  });

  it('that dies does not keep close waiting', async () => {
    const url = await listen(() => undefined);
    const client = await connect(url);
    servers[0]?.closeAllConnections();
    servers[0]?.close();
    await client.close();
    expect(await messageOf(client.call('work', {}))).toBe(
      'tool: The connection to the environment "far" was closed while running the tool "work"',
    );
  });
});
