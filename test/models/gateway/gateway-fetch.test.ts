import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ReferenceContext } from '../../../src/models/gateway/chat-model.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { createGatewayModel } from '../../../src/models/gateway/gateway.ts';
import { createGatewayClient } from '../../../src/models/gateway/gateway-client.ts';
import { createRedactor } from '../../../src/support/redaction/redactor.ts';
import { delta, type FakeGateway, fakeTiming, frames, json, type Play, says, startGateway } from '../../gateway.ts';
import { toRequest } from './gateway-model.ts';

const modelAt = ({ url }: FakeGateway) =>
  createGatewayModel('m-1', { baseUrl: url, apiKey: 'key-of-the-gateway', timing: fakeTiming() });

function redirect(status: number, location: string): Play {
  return (response) => response.writeHead(status, { location }).end();
}

describe('the way to a gateway', () => {
  it.each([307, 308])('follows a redirect that keeps the method: %i', async (status) => {
    const target = await startGateway(says('There.'));
    const gateway = await startGateway(redirect(status, `${target.url}/chat/completions`));
    const { message } = await modelAt(gateway).respond(toRequest());
    expect(message.content).toBe('There.');
    expect(target.requests[0]?.body).toMatchObject({ model: 'm-1' });
  });

  it('gives its key to no other origin', async () => {
    const target = await startGateway(says('There.'));
    const gateway = await startGateway(redirect(307, `${target.url}/chat/completions`));
    await modelAt(gateway).respond(toRequest());
    expect(gateway.requests[0]?.headers.authorization).toBe('Bearer key-of-the-gateway');
    expect(target.requests[0]?.headers.authorization).toBeUndefined();
  });

  it('keeps its key where the redirect stays at the same origin', async () => {
    const gateway = await startGateway(redirect(307, '/v2/chat/completions'), says('There.'));
    await modelAt(gateway).respond(toRequest());
    expect(gateway.requests[1]).toMatchObject({
      path: '/v2/chat/completions',
      headers: { authorization: 'Bearer key-of-the-gateway' },
    });
  });

  it.each([301, 302, 303])(
    'says where the gateway has moved where a redirect would lose the request: %i',
    async (status) => {
      const gateway = await startGateway(redirect(status, 'http://elsewhere.test/v1/chat/completions'));
      await expect(modelAt(gateway).respond(toRequest())).rejects.toMatchObject({
        code: 'model_failed',
        message: expect.stringContaining('it has moved to http://elsewhere.test/v1/chat/completions'),
      });
      expect(gateway.requests).toHaveLength(1);
    },
  );

  it('follows no circle of redirects for ever', async () => {
    const gateway = await startGateway(redirect(307, '/v1/chat/completions'));
    await expect(modelAt(gateway).respond(toRequest())).rejects.toMatchObject({ code: 'model_failed' });
    expect(gateway.requests).toHaveLength(6);
  });

  it('asks for replies that are not compressed, and reads one that is all the same', async () => {
    const text = frames(delta({ content: 'Packed.' }), delta({}, 'stop'));
    const gateway = await startGateway((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
      response.end(gzipSync(text));
    });
    const { message } = await modelAt(gateway).respond(toRequest());
    expect(message.content).toBe('Packed.');
    expect(gateway.requests[0]?.headers['accept-encoding']).toBe('identity');
  });

  it('reads a compressed error too', async () => {
    const gateway = await startGateway((response) => {
      response.writeHead(400, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(gzipSync('{"error":{"message":"No such thing"}}'));
    });
    await expect(modelAt(gateway).respond(toRequest())).rejects.toThrow(/answered 400.*No such thing/);
  });

  it('uses a connection again for the next request', async () => {
    const ports = new Set<number | undefined>();
    const gateway = await startGateway((response) => {
      ports.add(response.socket?.remotePort);
      return says('Again.')(response);
    });
    const model = modelAt(gateway);
    for (let asked = 0; asked < 3; asked += 1) await model.respond(toRequest());
    expect(ports.size).toBe(1);
  });

  it('reads a whole completion of a gateway that does not stream', async () => {
    const message = { role: 'assistant', content: 'Whole.' };
    const gateway = await startGateway(json(200, { choices: [{ index: 0, message, finish_reason: 'stop' }] }));
    const response = await modelAt(gateway).respond(toRequest());
    expect(response.message.content).toBe('Whole.');
  });
});

describe('a gateway that sends far too much', () => {
  const endless = (piece: string, headers: Record<string, string> = {}): Play => {
    return (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
      const send = () => {
        while (!response.destroyed && response.write(piece));
        if (!response.destroyed) response.once('drain', send);
      };
      send();
    };
  };

  it.each([
    ['a line without an end', endless('x'.repeat(64 * 1024)), /line of more than \d+ characters/],
    ['deltas without an end', endless(frames(delta({ content: 'x'.repeat(64 * 1024) }))), /larger than \d+ bytes/],
    [
      'calls without an end',
      endless(frames(delta({ tool_calls: [{ id: '', function: { name: 'add', arguments: '{}' } }] }))),
      /more than 1000 tool calls/,
    ],
  ])('is left, and said to have: %s', async (_what, play, message) => {
    const gateway = await startGateway(play);
    await expect(modelAt(gateway).respond(toRequest())).rejects.toMatchObject({
      code: 'model_failed',
      message: expect.stringMatching(message),
    });
    await gateway.clientClosed;
    expect(gateway.requests).toHaveLength(1);
  });

  it('is left though it had compressed it', async () => {
    const bomb = gzipSync(frames(delta({ content: 'x'.repeat(80 * 1024 * 1024) })));
    const gateway = await startGateway((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
      response.end(bomb);
    });
    await expect(modelAt(gateway).respond(toRequest())).rejects.toThrow(/line of more than/);
  });

  it('as an error is read to where a reader would stop', async () => {
    const gateway = await startGateway((response) => {
      response.writeHead(400, { 'content-type': 'text/plain' });
      const send = () => {
        while (!response.destroyed && response.write('No. '.repeat(16_384)));
        if (!response.destroyed) response.once('drain', send);
      };
      send();
    });
    await expect(modelAt(gateway).respond(toRequest())).rejects.toThrow(/answered 400.*No\. No\./);
    await gateway.clientClosed;
  });

  it('keeps no connection of a redirect whose body does not end', async () => {
    const target = await startGateway(says('There.'));
    const gateway = await startGateway((response) => {
      response.writeHead(307, { location: `${target.url}/chat/completions` });
      response.write('Moved, and moved, and');
    });
    await modelAt(gateway).respond(toRequest());
    await gateway.clientClosed;
  });

  it.each(['file:///etc/passwd', 'ftp://elsewhere.test/', 'http://['])(
    'follows no redirect to %s',
    async (location) => {
      const gateway = await startGateway(redirect(307, location));
      await expect(modelAt(gateway).respond(toRequest())).rejects.toThrow(/it has moved to/);
      expect(gateway.requests).toHaveLength(1);
    },
  );

  it('takes nothing for text that comes after [DONE]', async () => {
    const text = `${frames(delta({ content: 'All.' }), delta({}, 'stop'))}data: [DONE]\n\n${frames(delta({ content: 'LATE' }))}`;
    const gateway = await startGateway((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(text);
    });
    const { message } = await modelAt(gateway).respond(toRequest());
    expect(message.content).toBe('All.');
  });
});

const CONTEXT: ReferenceContext = {
  seed: null,
  scenario: 'count',
  answerSchema: () => null,
  solution: () => Promise.reject(new Error('A gateway has no solution')),
};

describe('a known secret that a tool has found', () => {
  const KEY = 'sk"of-the-gateway\\1';
  const redactor = createRedactor([{ name: 'gateway_key', value: KEY }], []);
  const messages = [{ role: 'user' as const, content: `The tool printed ${KEY}, and ghp_${'a1'.repeat(18)}.` }];
  const request = { ...toRequest(), messages };
  const expected = `The tool printed [redacted:gateway_key], and ghp_${'a1'.repeat(18)}.`;

  it('does not go to the gateway, which gets its own key in the header alone', async () => {
    const gateway = await startGateway(says('Fine.'));
    const models = createModels({ gatewayUrl: gateway.url, gatewayApiKey: 'key-of-the-gateway', redactor });
    await models.create('m-1', CONTEXT).respond(request);
    expect(gateway.requests[0]?.body).toMatchObject({ messages: [{ content: expected }] });
    expect(gateway.requests[0]?.headers.authorization).toBe('Bearer key-of-the-gateway');
  });

  it('does not go through a client of others', async () => {
    const gateway = await startGateway(says('Fine.'));
    const client = createGatewayClient({ baseUrl: gateway.url });
    await createModels({ client, redactor }).create('m-1', CONTEXT).respond(request);
    expect(gateway.requests[0]?.body).toMatchObject({ messages: [{ content: expected }] });
  });
});
