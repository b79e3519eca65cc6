import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { createGatewayModel } from '../../src/model/gateway.ts';
import {
  delta,
  type FakeGateway,
  fakeTiming,
  frames,
  json,
  type Play,
  says,
  startGateway,
  toRequest,
} from './fake-gateway.ts';

const gateways: FakeGateway[] = [];
afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.close()));
});

async function start(...plays: Play[]): Promise<FakeGateway> {
  const gateway = await startGateway(...plays);
  gateways.push(gateway);
  return gateway;
}

const modelAt = ({ url }: FakeGateway) =>
  createGatewayModel('m-1', { baseUrl: url, apiKey: 'key-of-the-gateway', timing: fakeTiming() });

function redirect(status: number, location: string): Play {
  return (response) => response.writeHead(status, { location }).end();
}

describe('the way to a gateway', () => {
  it.each([307, 308])('follows a redirect that keeps the method: %i', async (status) => {
    const target = await start(says('There.'));
    const gateway = await start(redirect(status, `${target.url}/chat/completions`));
    const { message } = await modelAt(gateway).respond(toRequest());
    expect(message.content).toBe('There.');
    expect(target.requests[0]?.body).toMatchObject({ model: 'm-1' });
  });

  it('gives its key to no other origin', async () => {
    const target = await start(says('There.'));
    const gateway = await start(redirect(307, `${target.url}/chat/completions`));
    await modelAt(gateway).respond(toRequest());
    expect(gateway.requests[0]?.headers.authorization).toBe('Bearer key-of-the-gateway');
    expect(target.requests[0]?.headers.authorization).toBeUndefined();
  });

  it('keeps its key where the redirect stays at the same origin', async () => {
    const gateway = await start(redirect(307, '/v2/chat/completions'), says('There.'));
    await modelAt(gateway).respond(toRequest());
    expect(gateway.requests[1]).toMatchObject({
      path: '/v2/chat/completions',
      headers: { authorization: 'Bearer key-of-the-gateway' },
    });
  });

  it.each([301, 302, 303])(
    'says where the gateway has moved where a redirect would lose the request: %i',
    async (status) => {
      const gateway = await start(redirect(status, 'http://elsewhere.test/v1/chat/completions'));
      await expect(modelAt(gateway).respond(toRequest())).rejects.toMatchObject({
        code: 'model_failed',
        message: expect.stringContaining('it has moved to http://elsewhere.test/v1/chat/completions'),
      });
      expect(gateway.requests).toHaveLength(1);
    },
  );

  it('follows no circle of redirects for ever', async () => {
    const gateway = await start(redirect(307, '/v1/chat/completions'));
    await expect(modelAt(gateway).respond(toRequest())).rejects.toMatchObject({ code: 'model_failed' });
    expect(gateway.requests).toHaveLength(6);
  });

  it('asks for replies that are not compressed, and reads one that is all the same', async () => {
    const text = frames(delta({ content: 'Packed.' }), delta({}, 'stop'));
    const gateway = await start((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
      response.end(gzipSync(text));
    });
    const { message } = await modelAt(gateway).respond(toRequest());
    expect(message.content).toBe('Packed.');
    expect(gateway.requests[0]?.headers['accept-encoding']).toBe('identity');
  });

  it('reads a compressed error too', async () => {
    const gateway = await start((response) => {
      response.writeHead(400, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(gzipSync('{"error":{"message":"No such thing"}}'));
    });
    await expect(modelAt(gateway).respond(toRequest())).rejects.toThrow(/answered 400.*No such thing/);
  });

  it('uses a connection again for the next request', async () => {
    const ports = new Set<number | undefined>();
    const gateway = await start((response) => {
      ports.add(response.socket?.remotePort);
      return says('Again.')(response);
    });
    const model = modelAt(gateway);
    for (let asked = 0; asked < 3; asked += 1) await model.respond(toRequest());
    expect(ports.size).toBe(1);
  });

  it('reads a whole completion of a gateway that does not stream', async () => {
    const message = { role: 'assistant', content: 'Whole.' };
    const gateway = await start(json(200, { choices: [{ index: 0, message, finish_reason: 'stop' }] }));
    const response = await modelAt(gateway).respond(toRequest());
    expect(response.message.content).toBe('Whole.');
  });
});
