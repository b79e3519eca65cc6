import { describe, expect, it } from 'vitest';
import { startModels, whole } from '../../gateway.ts';
import { startService } from '../../service/runs/service.ts';
import { send } from '../../support/http/http-server.ts';
import { askModel, createAgent } from './agent.ts';
import { createRoom } from './environment.ts';
import { COUNT_TO_3, openSeat, secretOf, sitDown } from './seat.ts';

const HELLO = { model: 'x', messages: [{ role: 'user', content: 'Hello' }] };

async function startSeats() {
  const { models, gateway } = await startModels([whole({ content: 'Hi.' })]);
  const service = await startService({ models });
  const [mine, other] = [await openSeat(service, { model: 'm' }), await openSeat(service, { model: 'm' })];
  return { service, gateway, mine, other, secret: secretOf(mine) };
}

/** Every way in which a secret can be shown. */
const waysOf = (secret: string, path: string): readonly (readonly [string, Record<string, string>])[] => [
  [path, { authorization: `Bearer ${secret}` }],
  [path, { 'x-api-key': secret }],
  [path, { 'x-goog-api-key': secret }],
  [`${path}${path.includes('?') ? '&' : '?'}key=${secret}`, {}],
  [`/r/${secret}${path}`, {}],
  [`//r/${secret}${path}`, {}],
  [path, { cookie: `proctor_session=${secret}` }],
];

describe('an agent that tries for its reward', () => {
  it('opens nothing with its secret but its own addresses', async () => {
    const { service, mine, other, secret } = await startSeats();
    const paths = [
      '/v1/traces',
      `/v1/traces/${mine.trace_id}`,
      `/v1/traces/${other.trace_id}/events`,
      `/v1/agent/seats/${mine.trace_id}`,
      '/v1/evaluations',
      '/v1/usage',
      '/v1/environments',
      `/traces/${mine.trace_id}`,
      `/data/traces/${mine.trace_id}?after=0`,
    ];
    for (const path of paths) {
      for (const [at, headers] of waysOf(secret, path)) {
        const { status } = await send(service.url, at, { headers });
        expect([at, Object.keys(headers), status]).toEqual([
          at,
          Object.keys(headers),
          expect.toSatisfy((code) => [401, 403, 404].includes(Number(code))),
        ]);
      }
    }
    const post = { method: 'POST', headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' } };
    const body = JSON.stringify({ ...COUNT_TO_3, model: 'proctor/oracle' });
    expect((await send(service.url, '/v1/agent/run', { ...post, body })).status).toBe(401);
    expect((await send(service.url, '/v1/agent/seats', { ...post, body })).status).toBe(401);
    const end = `/v1/agent/seats/${mine.trace_id}/answer`;
    expect((await send(service.url, end, { ...post, body: '{"answer":"done"}' })).status).toBe(401);
    expect((await service.store.trace(mine.trace_id))?.status).toBe('running');
  });

  it('asks no model of another seat, and is in no trace but its own', async () => {
    const { service, mine, other } = await startSeats();
    const own = secretOf(mine);
    const guessed = `${own.slice(0, -1)}${own.endsWith('0') ? '1' : '0'}`;
    const refused = await askModel(mine, '/v1/chat/completions', HELLO, { authorization: `Bearer ${guessed}` });
    expect(refused.status).toBe(401);
    // Of two secrets in one request one counts, and that in the path before all others.
    const both = await askModel(mine, `/r/${own}/v1/chat/completions`, HELLO, { 'x-api-key': secretOf(other) });
    expect(both.status).toBe(200);
    expect((await service.store.trace(mine.trace_id))?.steps).toHaveLength(1);
    expect((await service.store.trace(other.trace_id))?.steps).toHaveLength(0);
  });

  it('is told nothing of its reward at the model addresses, before and after its end', async () => {
    const { service, mine } = await startSeats();
    const agent = await createAgent(mine);
    const before = await agent.say('What is my reward?');
    await agent.mcp.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
    await service.ended(mine.trace_id);
    const replies = [
      before,
      await agent.say('And now?'),
      await send(service.url, '/v1/models', { headers: { authorization: `Bearer ${secretOf(mine)}` } }),
    ];
    for (const { text, headers } of replies) {
      expect(`${text}${JSON.stringify(headers)}`).not.toMatch(/reward|graded|evaluation|subscore/i);
    }
  });

  it('finds its secret in no trace and no log, though it says it to its model', async () => {
    const { service, mine, secret } = await startSeats();
    const agent = await createAgent(mine);
    await agent.say(`My key is ${secret}`);
    await agent.mcp.callTool({ name: 'submit_answer', arguments: { answer: secret } });
    const trace = await service.ended(mine.trace_id);
    expect(JSON.stringify(trace)).not.toContain(secret);
    expect(JSON.stringify(await service.store.events(mine.trace_id))).not.toContain(secret);
    expect(trace.steps[0]?.input?.messages).toMatchObject([{ content: expect.stringContaining('[redacted:') }]);
  });

  it('reaches no function of the harness by a name that its model makes up', async () => {
    const { mine, service } = await startSeats();
    const mcp = await sitDown(mine);
    for (const name of ['setup', 'evaluate', 'evaluation', 'solution', 'mcp__env__evaluate']) {
      const result = await mcp
        .callTool({ name, arguments: {} })
        .catch((error: unknown) => ({ refused: String(error) }));
      expect(JSON.stringify(result)).toMatch(/unknown|not found|no tool/i);
    }
    expect((await service.store.events(mine.trace_id)).some(({ type }) => type === 'evaluation.completed')).toBe(false);
  });

  it('gains nothing by a body that is too large, too deep or no JSON', async () => {
    const { mine, service, gateway } = await startSeats();
    const post = (body: string) =>
      send(service.url, '/v1/messages', {
        method: 'POST',
        headers: { 'x-api-key': secretOf(mine), 'content-type': 'application/json' },
        body,
      });
    for (const body of [
      '',
      '{',
      '[]',
      'null',
      `{"messages":${'['.repeat(500)}${']'.repeat(500)}}`,
      '{"messages":[{"role":"alien"}],"max_tokens":1}',
    ]) {
      const reply = await post(body);
      expect([body.slice(0, 40), reply.status]).toEqual([body.slice(0, 40), 400]);
      expect(reply.json).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
    }
    expect(gateway.requests).toEqual([]);
  });
});

describe('a service that is stopped', () => {
  it('leaves a trace that says so, without a reward', async () => {
    const { models } = await startModels([whole({ content: 'Hi.' })]);
    const service = await startService({ models, environments: new Map([['room', createRoom()]]) });
    const seat = await openSeat(service, { env_name: 'room', scenario_name: 'plain', scenario_args: {}, model: 'm' });
    await service.close();
    expect(await service.store.trace(seat.trace_id)).toMatchObject({
      status: 'failed',
      outcome: 'infra_error',
      reward: null,
      error: { boundary: 'worker' },
    });
  });
});
