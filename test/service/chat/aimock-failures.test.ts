import { describe, expect, it } from 'vitest';
import {
  type AimockReply,
  calls,
  failsWith,
  heldTimings,
  piecesOf,
  STREAMED,
  saidBy,
  says,
  serveByAimock,
  WORK,
} from './aimock-gateway.ts';
import { openChat } from './open-chat.ts';
import { errorOf, svcOf } from './server.ts';

const ENDS_IN_AN_ERROR = /\n\ndata: \{"error":\{[^\n]*"type":"upstream_error"[^\n]*"code":"model_failed"\}\}\n\n$/;

/** The connection is closed while the chunk after the one with the role is waited for. */
const CUT_AFTER_ROLE: AimockReply = {
  ...says('Lost.'),
  recordedTimings: { ttftMs: 0, interChunkDelaysMs: [60_000], totalDurationMs: 60_000 },
  disconnectAfterMs: 20,
};

describe('with aimock as a gateway that fails', () => {
  it.each<[string, AimockReply, number]>([
    ['429 with retry-after', { response: { status: 429, retryAfter: 7, error: { message: 'Slow down' } } }, 7_000],
    ['a limit of its rate', { chaos: { rateLimitRate: 1 } }, 1_000],
    ['500', { chaos: { dropRate: 1 } }, 500],
    ['503', failsWith(503, 'Overloaded'), 500],
    ['a reply that is no JSON', { chaos: { malformedRate: 1 } }, 500],
    ['a connection that it closes', { chaos: { disconnectRate: 1 } }, 500],
    ['a stream cut before its first token', CUT_AFTER_ROLE, 500],
  ])('for a moment, the call alone is made again, and no step twice: %s', async (_name, failure, waitMs) => {
    const server = await serveByAimock([calls(['saw', { name: 'oak' }]), failure, says('Done.')]);
    const reply = await server.chat('Go.', { ...STREAMED, ...WORK });
    expect(piecesOf(reply).join('')).toBe('Done.');
    const [, failed, again] = server.asked();
    expect(again).toEqual(failed);
    expect(server.sleptMs).toEqual([waitMs]);
    const { steps, usage } = await server.traceOf(reply);
    expect(steps.map(({ retries }) => retries)).toEqual([0, 1]);
    expect(usage).toMatchObject({ model_calls: 2, tool_calls: 1 });
    expect(await server.logOf(reply)).toEqual(['oak begun', 'oak sawn']);
  });

  const failing: AimockReply = { chaos: { dropRate: 1 } };

  it('three times, the turn is 502 model_failed, and can be sent again', async () => {
    const server = await serveByAimock([
      says('Ready.'),
      calls(['saw', { name: 'oak' }]),
      ...[failing, failing, failing],
      says('Done.'),
    ]);
    const first = await server.chat('Hello.', WORK);
    const { session_id: thread_id } = svcOf(first);
    expect(errorOf(await server.chat('Saw.', { thread_id }))).toEqual([502, 'model_failed', null]);
    expect(server.asked()).toHaveLength(5);
    expect(server.sleptMs).toEqual([500, 1_000]);
    expect(saidBy(await server.chat('Saw.', { thread_id }))).toBe('Done.');
    const roles = server.asked()[5]?.messages.map(({ role }) => role);
    expect(roles?.slice(-5)).toEqual(['user', 'assistant', 'user', 'assistant', 'tool']);
    expect(await server.logOf(first)).toEqual(['oak begun', 'oak sawn']);
  });

  it('three times, a stream that has not begun is a JSON error, and one that has ends in an error frame', async () => {
    const failures = [failing, failing, failing];
    const server = await serveByAimock([...failures, calls(['saw', { name: 'oak' }]), ...failures]);
    expect(errorOf(await server.chat('Go.', { ...STREAMED, ...WORK }))).toEqual([502, 'model_failed', null]);
    const begun = await server.chat('Go.', { ...STREAMED, ...WORK });
    expect(begun.status).toBe(200);
    expect(begun.text).toMatch(ENDS_IN_AN_ERROR);
    expect(server.asked()).toHaveLength(7);
  });

  it.each<[string, AimockReply, readonly [number, string, null], string]>([
    ['400', failsWith(400, 'Bad tools', { type: 'invalid_request_error' }), [502, 'model_failed', null], 'Bad tools'],
    [
      '429 for want of money',
      failsWith(429, 'Pay', { code: 'insufficient_quota' }),
      [502, 'model_failed', null],
      'Pay',
    ],
    [
      'a transcript that is too long',
      failsWith(400, 'Too many tokens', { code: 'context_length_exceeded' }),
      [400, 'context_length_exceeded', null],
      'Too many tokens',
    ],
  ])('for good, it is asked once: %s', async (_name, failure, expected, words) => {
    const server = await serveByAimock([failure, says('Never said.')]);
    const reply = await server.chat('Go.', WORK);
    expect(errorOf(reply)).toEqual(expected);
    expect(reply.text).toContain(words);
    expect(server.asked()).toHaveLength(1);
    expect(server.sleptMs).toEqual([]);
  });

  it('by falling silent, it is given up with 504 model_timeout, and not asked again', async () => {
    const silent = { chaos: { latencyMs: 30_000 } };
    const server = await serveByAimock([silent, says('Never said.')], { idleTimeoutMs: 200 });
    expect(errorOf(await server.chat('Go.', WORK))).toEqual([504, 'model_timeout', null]);
  });

  it('in the middle of a text, the stream ends in an error frame, and the same words are said once', async () => {
    const { recordedTimings, letGo } = heldTimings({ after: 2 });
    const cut = { ...says('Half of it'), recordedTimings, truncateAfterChunks: 3 };
    const server = await serveByAimock([says('Ready.'), cut, says('Whole.')]);
    const { session_id: thread_id } = svcOf(await server.chat('Hello.', WORK));
    const chat = openChat(server.url, { messages: [{ role: 'user', content: 'Go.' }], ...STREAMED, thread_id });
    await chat.heard('"Half"');
    letGo();
    await chat.ended;
    expect(chat.text).toMatch(ENDS_IN_AN_ERROR);
    expect(chat.text).not.toMatch(/\[DONE\]|"finish_reason":"/);
    expect(server.asked()).toHaveLength(2);
    const again = await server.chat('Go.', { ...STREAMED, thread_id });
    expect(piecesOf(again).join('')).toBe('Whole.');
    expect(server.asked()[2]).toEqual(server.asked()[1]);
  });

  it('in the middle of a call, the call is not run, and a first turn closes its session as failed', async () => {
    const { recordedTimings, letGo } = heldTimings({ after: 5 });
    const toolCalls = [{ name: 'saw', arguments: { name: 'oak' } }];
    const cut = { response: { content: 'Saw!', toolCalls }, recordedTimings, truncateAfterChunks: 6 };
    const server = await serveByAimock([cut, says('Never said.')]);
    const options = { include_usage: true, svc_events: true };
    const body = { messages: [{ role: 'user', content: 'Go.' }], ...STREAMED, stream_options: options, ...WORK };
    const chat = openChat(server.url, body);
    const { headers } = await chat.begun;
    await chat.heard('"Saw!"');
    letGo();
    await chat.ended;
    expect(chat.text).toMatch(ENDS_IN_AN_ERROR);
    expect(chat.text).not.toContain('tool_call');
    expect(server.asked()).toHaveLength(1);
    const { json } = await server.get(`/v1/sessions/${headers['x-svc-session-id']}`);
    expect(json).toMatchObject({ status: 'failed', steps: 0 });
  });
});
