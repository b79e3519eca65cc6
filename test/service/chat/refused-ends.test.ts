import { describe, expect, it } from 'vitest';
import { json, says } from '../../gateway.ts';
import { type Send, send } from '../../support/http/http-server.ts';
import { endEvaluation, evaluationBegun } from './fixtures/desk.ts';
import { CHAT, type Expected, expectRefused, invalid, JSON_TYPE, sharedServer, start } from './refusal-table.ts';
import { serve, svcOf } from './server.ts';

const untouched = sharedServer();

describe('sessions', () => {
  it.each<readonly [id: string, method: string, path: string, expected: Expected]>([
    ['sessions.one.unknown', 'GET', '/v1/sessions/sess_0', [404, 'session_not_found', null]],
    ['sessions.finish.unknown', 'POST', '/v1/sessions/sess_0/finish', [404, 'session_not_found', null]],
    ['sessions.delete.unknown', 'DELETE', '/v1/sessions/sess_0', [404, 'session_not_found', null]],
    ['sessions.list.status', 'GET', '/v1/sessions?status=old', invalid('status')],
    ['sessions.list.twice', 'GET', '/v1/sessions?status=all&status=all', invalid('status')],
    ['sessions.list.method', 'POST', '/v1/sessions', [405, 'method_not_allowed', null]],
    ['sessions.one.method', 'POST', '/v1/sessions/sess_0', [405, 'method_not_allowed', null]],
    ['sessions.finish.method', 'GET', '/v1/sessions/sess_0/finish', [405, 'method_not_allowed', null]],
  ])('%s', async (_id, method, path, expected) => {
    const server = await untouched.server();
    expectRefused(await send(server.url, path, { method }), expected, /\w/);
  });

  it.each<readonly [id: string, request: Send, expected: Expected]>([
    ['sessions.finish.list', { headers: JSON_TYPE, body: '[]' }, invalid(null)],
    ['sessions.finish.null', { headers: JSON_TYPE, body: 'null' }, invalid(null)],
    ['sessions.finish.not-json', { headers: JSON_TYPE, body: '{' }, [400, 'invalid_json', null]],
    [
      'sessions.finish.declared',
      { headers: { 'content-type': 'text/plain' }, body: 'x' },
      [415, 'unsupported_media_type', null],
    ],
  ])('%s: and the session goes on', async (_id, request, expected) => {
    const server = await serve();
    const { session_id } = svcOf(await server.post(CHAT, start));
    const path = `/v1/sessions/${session_id}/finish`;
    expectRefused(await send(server.url, path, { method: 'POST', ...request }), expected, /\w/);
    expect((await server.post(path)).status).toBe(200);
  });

  it('sessions.delete.evaluating: one that is being evaluated is not abandoned, and the evaluation goes on', async () => {
    const server = await serve();
    const { session_id } = svcOf(await server.post(CHAT, { ...start, scenario: 'slow_evaluation', scenario_args: {} }));
    const finished = server.post(`/v1/sessions/${session_id}/finish`);
    await evaluationBegun();
    expectRefused(await server.remove(`/v1/sessions/${session_id}`), [409, 'session_busy', null], /being evaluated/);
    endEvaluation();
    expect((await finished).json).toMatchObject({ status: 'finished', reward: 1 });
  });

  it('sessions.ended: one that was abandoned or failed is not finished; one that is finished is not abandoned', async () => {
    const server = await serve({ plays: [says('Done.'), says('Done.'), json(400, {})] });
    const finished = svcOf(await server.post(CHAT, start)).session_id;
    const abandoned = svcOf(await server.post(CHAT, start)).session_id;
    const failed = String((await server.post(CHAT, start)).headers['x-svc-session-id']);
    await server.post(`/v1/sessions/${finished}/finish`);
    await server.remove(`/v1/sessions/${abandoned}`);
    const ended: Expected = [409, 'session_finished', null];
    expectRefused(await server.post(`/v1/sessions/${abandoned}/finish`), ended, /is abandoned/);
    expectRefused(await server.post(`/v1/sessions/${failed}/finish`), ended, /is failed/);
    expectRefused(await server.remove(`/v1/sessions/${finished}`), ended, /is finished/);
    expectRefused(await server.remove(`/v1/sessions/${failed}`), ended, /is failed/);
  });
});
