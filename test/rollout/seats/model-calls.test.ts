import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { Seat } from '../../../src/contract/service/seat.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { calls, delta, frames, json, type Play, says, startModels, whole } from '../../gateway.ts';
import { startService } from '../../service/runs/service.ts';
import { deferred } from '../../support/http/http-server.ts';
import { until } from '../../until.ts';
import { askModel, createAgent } from './agent.ts';
import { openSeat, secretOf } from './seat.ts';

async function startSeat(
  plays: readonly Play[],
  request: object = {},
  options: { gateway?: Parameters<typeof startModels>[1]; timing?: object } = {},
) {
  const { models, gateway } = await startModels(plays, options.gateway);
  const service = await startService({ models, seats: { timing: options.timing ?? {} } });
  const seat = await openSeat(service, { model: 'gpt-test', ...request });
  return { service, gateway, seat, agent: await createAgent(seat) };
}

type Started = Awaited<ReturnType<typeof startSeat>>;

const stepsOf = async ({ service, seat }: Pick<Started, 'service' | 'seat'>) =>
  (await service.store.trace(seat.trace_id))?.steps ?? [];
const eventsOf = async ({ service, seat }: Pick<Started, 'service' | 'seat'>, type: string) =>
  (await service.store.events(seat.trace_id)).filter((event) => event.type === type);

/** Asks over a connection that the test can cut. */
function askRaw(seat: Seat, body: object) {
  const client = httpRequest(`${new URL(seat.mcp.url).origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secretOf(seat)}`, 'content-type': 'application/json' },
  });
  client.on('error', () => {}); // It is cut.
  client.end(JSON.stringify(body));
  return client;
}

describe('a request that a client sends again', () => {
  it('joins the first while that is being answered', async () => {
    const gate = deferred<void>();
    const started = await startSeat([
      async (response) => {
        await gate.promise;
        whole({ content: 'Once.' })(response);
      },
    ]);
    const both = [started.agent.say('Hello'), started.agent.say('Hello')];
    await until(() => started.gateway.requests.length === 1);
    gate.resolve();
    for (const reply of await Promise.all(both))
      expect(reply).toMatchObject({ status: 200, text: expect.stringContaining('Once.') });
    expect(started.gateway.requests).toHaveLength(1);
    expect(await stepsOf(started)).toHaveLength(1);
  });

  it('gets the same answer again where the client says so, streamed too, and a new one where it does not', async () => {
    const started = await startSeat([says('First.'), says('Second.'), says('Third.')]);
    const { agent } = started;
    const first = await agent.say('Hello', { stream: true });
    const again = await agent.say('Hello', { stream: true });
    expect(again.text).toContain('Second.');
    const messages = [{ role: 'user', content: 'Hello' }];
    const body = { model: 'any', messages, tools: agent.tools, stream: true };
    const retried = await agent.ask(body, { 'x-stainless-retry-count': '1' });
    expect(retried.text).toBe(again.text);
    expect(first.text).not.toBe(again.text);
    expect(await stepsOf(started)).toHaveLength(2);
  });

  it('of a client that repeats every request twice is one step each', async () => {
    const started = await startSeat([calls(['mcp__env__increment', { by: 3 }, 'call_1']), says('Done.')]);
    const { agent } = started;
    const thrice = async (messages: readonly object[]) => {
      const body = { model: 'any', messages, tools: agent.tools, stream: true };
      const replies = [];
      for (const count of ['0', '1', '2']) replies.push(await agent.ask(body, { 'x-stainless-retry-count': count }));
      expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
    };
    const user = { role: 'user', content: 'Hello' };
    await thrice([user]);
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: 'mcp__env__increment', arguments: '{"by":3}' },
    };
    await thrice([
      user,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: '3' },
    ]);
    expect(started.gateway.requests).toHaveLength(2);
    expect(await stepsOf(started)).toMatchObject([{ branch: null }, { branch: null }]);
  });

  it('goes on for a client that has hung up and comes back, and the gateway is asked once', async () => {
    const gate = deferred<void>();
    const started = await startSeat([
      async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(frames(delta({ role: 'assistant', content: 'One ' })));
        await gate.promise;
        response.end(`${frames(delta({ content: 'whole.' }), delta({}, 'stop'))}data: [DONE]\n\n`);
      },
    ]);
    const body = {
      model: 'any',
      messages: [{ role: 'user', content: 'Hello' }],
      tools: started.agent.tools,
      stream: true,
    };
    const cut = askRaw(started.seat, body);
    const [response] = await once(cut, 'response');
    await once(response, 'data');
    cut.destroy();
    const again = started.agent.ask(body);
    gate.resolve();
    const { text } = await again;
    expect(text).toContain('One ');
    expect(text).toContain('whole.');
    expect(text).toContain('[DONE]');
    expect(started.gateway.requests).toHaveLength(1);
    expect(await stepsOf(started)).toHaveLength(1);
  });

  it('is given up where its client does not come back: the gateway hears of it, and there is no step', async () => {
    const started = await startSeat([
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(frames(delta({ role: 'assistant', content: 'One ' })));
      },
    ]);
    const cut = askRaw(started.seat, {
      model: 'any',
      messages: [{ role: 'user', content: 'Hello' }],
      tools: started.agent.tools,
      stream: true,
    });
    await once(cut, 'response');
    cut.destroy();
    await started.gateway.clientClosed;
    await expect
      .poll(() => eventsOf(started, 'model.failed'))
      .toMatchObject([{ code: 'client_hung_up', branch: null }]);
    expect(await stepsOf(started)).toEqual([]);
  });
});

describe('the end of an answer', () => {
  it('is sent when the step is stored, and not before', async () => {
    const started = await startSeat([says('Hi.')]);
    const { store } = started.service;
    const held = deferred<void>();
    const append = store.append.bind(store);
    store.append = async (traceId, attempt, events) => {
      if (events.some(({ type }) => type === 'model.responded')) await held.promise;
      return await append(traceId, attempt, events);
    };
    const client = askRaw(started.seat, {
      model: 'any',
      messages: [{ role: 'user', content: 'Hello' }],
      tools: started.agent.tools,
      stream: true,
    });
    const [response] = await once(client, 'response');
    let text = '';
    response.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    await until(() => text.includes('Hi.'));
    expect(await stepsOf(started)).toEqual([]);
    expect(text).not.toContain('[DONE]');
    held.resolve();
    await once(response, 'end');
    expect(text).toContain('[DONE]');
    expect(await stepsOf(started)).toHaveLength(1);
  });
});

describe('a gateway that fails', () => {
  it.each([
    [json(429, { error: { message: 'slow down' } }, { 'retry-after': '7' }), 429],
    [json(503, { error: { message: 'overloaded' } }, { 'retry-after': '7' }), 503],
  ])('passes through with its status and retry-after, without a retry and without a step', async (play, status) => {
    const started = await startSeat([play]);
    const reply = await started.agent.say('Hello');
    expect(reply).toMatchObject({ status, headers: { 'retry-after': '7' } });
    expect(started.gateway.requests).toHaveLength(1);
    expect(await stepsOf(started)).toEqual([]);
    expect(await eventsOf(started, 'model.failed')).toMatchObject([{ status, step: 1, branch: null }]);
    expect((await started.service.store.trace(started.seat.trace_id))?.status).toBe('running');
  });

  const said = [{ role: 'user', content: 'Hello' }];
  it.each([
    ['/v1/responses', { model: 'x', input: 'Hello' }],
    ['/v1/responses', { model: 'x', input: 'Hello', stream: true }],
    ['/v1/messages', { model: 'x', max_tokens: 10, messages: said }],
    ['/v1beta/models/x:generateContent', { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }],
    ['/v1/chat/completions', { model: 'x', messages: said }],
  ])('passes its retry-after on at %s, and says once what happened', async (path, body) => {
    const slow = json(429, { error: { message: 'slow down' } }, { 'retry-after': '7' });
    const started = await startSeat([slow]);
    const reply = await askModel(started.seat, path, body);
    expect(reply).toMatchObject({ status: 429, headers: { 'retry-after': '7' } });
    expect(reply.json).toMatchObject({ error: { message: 'Model gpt-test: the gateway answered 429: slow down' } });
    expect(started.gateway.requests).toHaveLength(1);
  });

  it('is 504 in every protocol where it is silent', async () => {
    const held: Play = () => {};
    const { gateway } = await startModels([held, held]);
    const models = createModels({ gateways: [{ pattern: '*', baseUrl: gateway.url }], idleTimeoutMs: 200 });
    const service = await startService({ models });
    const seat = await openSeat(service, { model: 'gpt-test' });
    for (const path of ['/v1/chat/completions', '/v1/messages']) {
      const reply = await askModel(seat, path, { model: 'x', max_tokens: 10, messages: said });
      expect(reply.status, reply.text).toBe(504);
    }
    expect(gateway.requests).toHaveLength(2);
  });

  it('is 529 in Messages where it is 503, and 502 where its connection is lost', async () => {
    const lost: Play = (response) => response.destroy();
    const started = await startSeat([json(503, { error: { message: 'overloaded' } }), lost]);
    const body = { model: 'x', max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] };
    expect(await askModel(started.seat, '/v1/messages', body)).toMatchObject({
      status: 529,
      json: { type: 'error', error: { type: 'overloaded_error' } },
    });
    expect((await askModel(started.seat, '/v1/messages', body)).status).toBe(502);
  });

  it('does not tell an agent that its own key is wrong, and never shows the key of the gateway', async () => {
    const started = await startSeat(
      [json(401, { error: { message: 'bad key sk-gateway-0123456789' } })],
      {},
      {
        gateway: { apiKey: 'sk-gateway-0123456789' },
      },
    );
    const reply = await started.agent.say('Hello');
    expect(reply.status).toBe(502);
    expect(reply.text).not.toContain('sk-gateway');
    expect(started.gateway.requests[0]?.headers.authorization).toBe('Bearer sk-gateway-0123456789');
  });

  it('in the middle of a stream ends that with an error and without its end', async () => {
    const started = await startSeat([
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(frames(delta({ role: 'assistant', content: 'One ' })), () => response.destroy());
      },
    ]);
    const { text } = await started.agent.say('Hello', { stream: true });
    expect(text).toContain('One ');
    expect(text).toContain('"error"');
    expect(text).not.toContain('[DONE]');
    expect(await stepsOf(started)).toEqual([]);
  });

  it('gives the agent its next try the number of the step that failed', async () => {
    const started = await startSeat([json(500, {}), whole({ content: 'Fine.' })]);
    expect((await started.agent.say('Hello')).status).toBe(500);
    expect((await started.agent.say('Hello')).status).toBe(200);
    expect(await stepsOf(started)).toMatchObject([{ step: 1 }]);
  });
});

describe('the limits of the calls', () => {
  it('serves the tool calls of the last step, refuses the next call, and evaluates then', async () => {
    const started = await startSeat([calls(['mcp__env__increment', { by: 3 }, 'call_1'])], { max_steps: 1 });
    const { agent, service, seat } = started;
    const user = { role: 'user', content: 'Hello' };
    expect((await agent.say([user], { stream: true })).status).toBe(200);
    const result = await agent.mcp.callTool({ name: 'increment', arguments: { by: 3 } });
    expect(result.isError).not.toBe(true);
    expect((await service.store.trace(seat.trace_id))?.status).toBe('running');
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: 'mcp__env__increment', arguments: '{"by":3}' },
    };
    const refused = await agent.say([
      user,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: '3' },
    ]);
    expect(refused).toMatchObject({
      status: 400,
      text: expect.stringContaining('All 1 model calls of this run are used up'),
    });
    expect(await service.ended(seat.trace_id)).toMatchObject({
      status: 'completed',
      stop_reason: 'max_steps',
      outcome: 'limit',
      reward: 1,
      usage: { model_calls: 1, tool_calls: 1 },
    });
  });

  it('evaluates an agent too that makes no call any more after its last step', async () => {
    const { agent, service, seat } = await startSeat(
      [whole({ content: 'I am done.' })],
      { max_steps: 1 },
      { timing: { lastCallsMs: 20 } },
    );
    await agent.say('Hello');
    expect(await service.ended(seat.trace_id)).toMatchObject({ stop_reason: 'max_steps', answer: 'I am done.' });
  });

  it('counts no calls beside the main conversation, up to ten for each step', async () => {
    const started = await startSeat([whole({ content: 'A title' })], { max_steps: 1 });
    const side = (index: number) =>
      askModel(started.seat, '/v1/chat/completions', {
        model: 'x',
        messages: [{ role: 'user', content: `Title ${index}` }],
      });
    for (let index = 0; index < 10; index += 1) expect((await side(index)).status).toBe(200);
    expect(await side(11)).toMatchObject({ status: 400, text: expect.stringContaining('All 10 model calls beside') });
    expect((await started.agent.say('Hello')).status).toBe(200);
    const steps = await stepsOf(started);
    expect(steps.map(({ branch }) => branch).filter((branch) => branch === null)).toHaveLength(1);
    expect(steps).toHaveLength(11);
  });
});

describe('the answer of a seat with a model', () => {
  it('is the last text of the main conversation when the seat expires', async () => {
    const { agent, seat, service } = await startSeat(
      [
        calls(['mcp__env__increment', { by: 3 }, 'call_1']),
        whole({ content: 'It shows 3.' }),
        whole({ content: 'Title: counting' }),
      ],
      { timeout_seconds: 3 },
    );
    await agent.say('Hello', { stream: true });
    await agent.mcp.callTool({ name: 'increment', arguments: { by: 3 } });
    await agent.say('Say something else');
    await askModel(seat, '/v1/chat/completions', { model: 'x', messages: [{ role: 'user', content: 'A title' }] });
    expect(await service.ended(seat.trace_id)).toMatchObject({
      status: 'completed',
      stop_reason: 'timeout',
      outcome: 'limit',
      answer: 'It shows 3.',
      reward: 1,
    });
  });

  it('does not come from a text alone: the run goes on', async () => {
    const { agent, seat, service } = await startSeat([whole({ content: 'It shows 3.' })]);
    await agent.say('Hello');
    expect((await service.store.trace(seat.trace_id))?.status).toBe('running');
  });

  it.each([
    ['tool', 400, true],
    ['either', 200, true],
    ['final_message', 200, false],
  ])('with %s: an end without an answer is %d', async (answer, status, hasTool) => {
    const { agent, seat, service } = await startSeat([whole({ content: 'It shows 3.' })], { answer });
    const { tools } = await agent.mcp.listTools();
    expect(tools.some(({ name }) => name === 'submit_answer')).toBe(hasTool);
    const end = () =>
      service.request(`/v1/agent/seats/${seat.trace_id}/answer`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
    expect((await end()).status).toBe(400);
    await agent.say('Hello');
    const ended = await end();
    expect(ended.status).toBe(status);
    if (status === 200) expect(ended.json).toMatchObject({ answer: 'It shows 3.', stop_reason: 'answered' });
  });
});
