import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { EnvironmentServer } from '../../../src/environment/authoring/environment-server.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { json, startGateway } from '../../gateway.ts';
import { CHAT, type Expected, expectRefused, HELLO, start } from './refusal-table.ts';
import { serve } from './server.ts';

describe('what goes wrong behind us has a status of its own:', () => {
  const overflow = { error: { message: 'Too long.', code: 'context_length_exceeded', type: 'invalid_request_error' } };

  it.each<readonly [id: string, status: number, body: object, expected: Expected, tries: number]>([
    ['chat.gateway.400', 400, { error: { message: 'Bad.' } }, [502, 'model_failed', null], 1],
    ['chat.gateway.401', 401, { error: { message: 'Bad key.' } }, [502, 'model_failed', null], 1],
    ['chat.gateway.429', 429, { error: { message: 'Slow down.' } }, [502, 'model_failed', null], 3],
    ['chat.gateway.500', 500, { error: { message: 'Oops.' } }, [502, 'model_failed', null], 3],
    ['chat.gateway.503', 503, { detail: 'Loading.' }, [502, 'model_failed', null], 3],
    ['chat.gateway.200', 200, { error: { message: 'In the body.' } }, [502, 'model_failed', null], 1],
    ['chat.context-length', 400, overflow, [400, 'context_length_exceeded', null], 1],
  ])('%s, plain and streamed', async (_id, status, body, expected, tries) => {
    for (const stream of [false, true]) {
      const server = await serve({ plays: [json(status, body)] });
      const reply = await server.post(CHAT, { ...start, stream });
      expectRefused(reply, expected, /\w/);
      expect(server.gateway.requests).toHaveLength(tries);
      expect(reply.headers['retry-after']).toBeUndefined();
      expect(reply.headers['x-svc-session-id']).toMatch(/^sess_/);
    }
  });

  it('chat.gateway.silent: a gateway that says nothing is 504 model_timeout', async () => {
    const gateway = await startGateway(() => {});
    const server = await serve({ models: createModels({ gatewayUrl: gateway.url, idleTimeoutMs: 20 }) });
    expectRefused(await server.post(CHAT, start), [504, 'model_timeout', null], /sent nothing/);
  });

  it('chat.turn-timeout: a turn that takes too long is 504 turn_timeout', async () => {
    const server = await serve({ plays: [() => {}], turnLimits: { limitMs: { plain: 30, streamed: 30 } } });
    for (const stream of [false, true]) {
      const reply = await server.post(CHAT, { ...start, stream });
      expectRefused(reply, [504, 'turn_timeout', null], /did not end within 30 ms.*start a new one/);
      const trace = await server.store.trace(String(reply.headers['x-svc-trace-id']));
      expect(trace).toMatchObject({ status: 'failed', error: { code: 'turn_timeout' } });
    }
  });

  it('chat.environment: an environment that fails at setup is 502 environment_failed', async () => {
    const server = await serve();
    const reply = await server.post(CHAT, { messages: HELLO, scenario: 'broken_setup', scenario_args: {} });
    expectRefused(reply, [502, 'environment_failed', null], /broken_setup/);
  });

  it('chat.environment.paths: what the environment says of its machine is in no reply of the session', async () => {
    const createShop = () => {
      const environment = new EnvironmentServer({ name: 'shop' });
      environment.scenario('buy', {}, async function* () {
        yield await readFile('/srv/shop/orders.json', 'utf8');
        return 1;
      });
      return environment;
    };
    const server = await serve({ environments: new Map([['shop', inMemory(createShop)]]) });
    const failed = await server.post(CHAT, { messages: HELLO, scenario: 'buy', scenario_args: {} });
    expectRefused(failed, [502, 'environment_failed', null], /ENOENT.*\[path\]/);
    const later = await server.chat('More.', { thread_id: String(failed.headers['x-svc-session-id']) });
    expectRefused(later, [409, 'session_finished', null], /ENOENT.*\[path\]/);
    const trace = await server.store.trace(String(failed.headers['x-svc-trace-id']));
    expect(trace?.error?.message).toContain("open '/srv/shop/orders.json'");
  });
});
