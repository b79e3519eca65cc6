import { expect, it } from 'vitest';
import type { Trace } from '../../../src/contract/service/trace.ts';
import { calls, json, says } from '../../gateway.ts';
import { openSeat, sitDown } from '../../rollout/seats/seat.ts';
import { errorOf, serve, svcOf } from '../../service/chat/server.ts';
import { createCode, createNotebook, type NotebookService, startNotebook } from './notebook.ts';

interface Fork {
  readonly trace_id: string;
  readonly after_step: number;
}

async function fork(service: NotebookService, given: Fork, body: object = {}): Promise<Trace> {
  const reply = await service.post('/v1/agent/run', { fork: given, ...body });
  expect(reply.status, reply.text).toBe(200);
  return await service.ended((reply.json as { trace_id: string }).trace_id);
}

interface Sent {
  readonly role: string;
  readonly content: unknown;
}

/** Messages that the gateway was sent with a request, by default the last one. */
function messagesOf({ asked }: NotebookService, index = -1): readonly Sent[] {
  return (asked.at(index)?.messages ?? []) as readonly Sent[];
}

/** Roles and contents of the transcript that the gateway was sent last. */
function lastAsked(service: NotebookService): readonly unknown[] {
  return messagesOf(service).map(({ role, content }) => [role, content]);
}

const NOTE_A = calls(['note', { text: 'a' }]);
const NOTE_B = calls(['note', { text: 'b' }]);

it('a fork repeats the steps up to one and lets a model go on with the transcript of the one before', async () => {
  const service = await startNotebook([NOTE_A, NOTE_B, says('a b'), says('a')]);
  const traceId = await service.write({ seed: 3, scenario_args: { words: 'a b' }, max_steps: 7 });
  const trace = await fork(service, { trace_id: traceId, after_step: 1 }, { model: 'another' });
  expect(trace).toMatchObject({
    origin: 'run',
    parent: { trace_id: traceId, kind: 'fork', after_step: 1 },
    replay: null,
    model: 'another',
    scenario_args: { words: 'a b' },
    seed: 3,
    max_steps: 7,
    status: 'completed',
    answer: 'a',
    reward: 1,
    usage: { model_calls: 1, tool_calls: 0, prompt_tokens: 10 },
  });
  expect(trace.steps.map(({ repeated = false, step }) => [step, repeated])).toEqual([
    [1, true],
    [2, false],
  ]);
  expect(service.code.seeds).toEqual([3, 3]);
  expect(lastAsked(service)).toEqual([
    ['system', 'You keep a notebook.'],
    ['user', 'Write notes. a b'],
    ['assistant', null],
    ['tool', '1: a'],
  ]);
});

it('a fork at step 0 begins anew, and one at the last step with calls asks for the answer', async () => {
  const service = await startNotebook([NOTE_A, NOTE_B, says('a b'), says(''), says('a b')]);
  const trace_id = await service.write();
  expect(await fork(service, { trace_id, after_step: 0 })).toMatchObject({ answer: '', reward: 1, model: 'writer' });
  expect(messagesOf(service)).toHaveLength(2);
  const last = await fork(service, { trace_id, after_step: 2 });
  expect(last).toMatchObject({ answer: 'a b', reward: 1 });
  expect(last.steps).toHaveLength(3);
});

it('the model is shown the recorded result of a volatile tool, and the trace says so', async () => {
  const service = await startNotebook([calls(['clock', {}], ['stamp', {}]), says(''), says('')]);
  const trace_id = await service.write();
  const before = await service.ended(trace_id);
  const trace = await fork(service, { trace_id, after_step: 1 });
  const results = ({ steps }: Trace) => steps[0]?.tool_results.map((each) => [each.content, each.structured_content]);
  expect(results(trace)).toEqual(results(before));
  const texts = before.steps[0]?.tool_results.map(({ content }) => ['tool', content[0]?.text]);
  expect(lastAsked(service).slice(3)).toEqual(texts);
});

it('images are in the transcript, and stay when the forked trace is deleted', async () => {
  const service = await startNotebook([calls(['picture', {}]), says(''), says('')]);
  const trace_id = await service.write();
  const trace = await fork(service, { trace_id, after_step: 1 });
  const before = messagesOf(service, 1);
  expect(JSON.stringify(lastAsked(service))).toContain('data:image/png;base64,');
  expect(messagesOf(service).slice(0, before.length)).toEqual(before);
  await service.request(`/v1/traces/${trace_id}`, { method: 'DELETE' });
  const [, reference = ''] = /svc-blob:\/\/sha256\/([0-9a-f]+)/.exec(JSON.stringify(trace.steps)) ?? [];
  expect((await service.request(`/v1/blobs/${reference}`)).status).toBe(200);
});

it('a repeated step that differs fails the run with both observations, and no model is asked', async () => {
  const service = await startNotebook([NOTE_A, says('a')]);
  const trace_id = await service.write();
  service.code.noted = () => 'written';
  const trace = await fork(service, { trace_id, after_step: 1 });
  expect(trace).toMatchObject({
    status: 'failed',
    outcome: 'infra_error',
    error: { boundary: 'worker', code: 'fork_differs' },
    reward: null,
    usage: { model_calls: 0 },
  });
  expect(trace.error?.message).toMatch(/^Step 1, call 1 differs from trace .*1: a.*written/);
  expect(service.asked).toHaveLength(2);
  service.code.greeting = 'Write!';
  const other = await fork(service, { trace_id, after_step: 0 });
  expect(other.error).toMatchObject({ code: 'fork_differs', message: expect.stringMatching(/^The prompt differs/) });
});

it('repeated steps count in max_steps', async () => {
  const service = await startNotebook([NOTE_A, NOTE_B, says('a b'), NOTE_A]);
  const trace_id = await service.write();
  const trace = await fork(service, { trace_id, after_step: 2 }, { max_steps: 3 });
  expect(trace).toMatchObject({ stop_reason: 'max_steps', usage: { model_calls: 1 } });
  expect(trace.steps).toHaveLength(3);
  const refused = await service.post('/v1/agent/run', { fork: { trace_id, after_step: 2 }, max_steps: 2 });
  expect(errorOf(refused)).toEqual([400, 'invalid_parameter', 'max_steps']);
});

it('a run that used up its steps gets as many once more', async () => {
  const service = await startNotebook([NOTE_A, says('a')]);
  const trace_id = await service.write({ max_steps: 1 });
  const trace = await fork(service, { trace_id, after_step: 1 });
  expect(trace).toMatchObject({ max_steps: 2, answer: 'a', reward: 1 });
});

it('a failed run goes on from its last step, and 32 forks of one trace at once are each their own', async () => {
  const service = await startNotebook([NOTE_A, json(400, { error: { message: 'No.' } }), says('a')]);
  const trace_id = await service.write();
  expect(await service.ended(trace_id)).toMatchObject({ status: 'failed', reward: null });
  const forks = await Promise.all(Array.from({ length: 32 }, () => fork(service, { trace_id, after_step: 1 })));
  expect(new Set(forks.map((trace) => trace.trace_id))).toHaveLength(32);
  for (const trace of forks) expect(trace).toMatchObject({ status: 'completed', reward: 1, usage: { model_calls: 1 } });
});

it('a fork of a fork goes on from what that has taken over', async () => {
  const service = await startNotebook([NOTE_A, says('a'), NOTE_B, says('a b'), says('a b')]);
  const first = await fork(service, { trace_id: await service.write(), after_step: 1 });
  const second = await fork(service, { trace_id: first.trace_id, after_step: 2 });
  expect(second).toMatchObject({ answer: 'a b', reward: 1, usage: { model_calls: 1 } });
});

it('another environment, scenario or arguments are refused, and so is a step that nothing can follow', async () => {
  const service = await startNotebook([NOTE_A, says('a')]);
  const trace_id = await service.write({ scenario_args: { words: 'a' } });
  const refusal = async (body: object, after_step = 1) =>
    errorOf(await service.post('/v1/agent/run', { fork: { trace_id, after_step }, ...body }));
  expect(await refusal({ env_name: 'counter' })).toEqual([400, 'invalid_parameter', 'env_name']);
  expect(await refusal({ scenario_name: 'other' })).toEqual([400, 'invalid_parameter', 'scenario_name']);
  expect(await refusal({ scenario_args: { words: 'b' } })).toEqual([400, 'invalid_parameter', 'scenario_args']);
  for (const step of [2, 3, 500])
    expect(await refusal({}, step)).toEqual([400, 'invalid_parameter', 'fork.after_step']);
  for (const step of [-1, 1.5, 501])
    expect(await refusal({}, step)).toEqual([400, 'invalid_parameter', 'fork.after_step']);
  expect(await refusal({ fork: { trace_id: 'x', after_step: 1 } })).toEqual([
    400,
    'invalid_parameter',
    'fork.trace_id',
  ]);
  expect(await refusal({ fork: { trace_id } })).toEqual([400, 'missing_required_parameter', 'fork.after_step']);
  expect(await refusal({ fork: { trace_id: '0'.repeat(32), after_step: 0 } })).toEqual([
    404,
    'trace_not_found',
    'fork.trace_id',
  ]);
  const { key } = await service.accounts.createKey({ name: 'other', account: 'other' });
  const others = await service.post(
    '/v1/agent/run',
    { fork: { trace_id, after_step: 0 } },
    { authorization: `Bearer ${key}` },
  );
  expect(errorOf(others)).toEqual([404, 'trace_not_found', 'fork.trace_id']);
  const same = { env_name: 'notebook', scenario_name: 'notebook:write', scenario_args: { words: 'a' } };
  expect((await service.post('/v1/agent/run', { fork: { trace_id, after_step: 1 }, ...same })).status).toBe(200);
});

it('a trace that still runs, and one that was never set up, are refused', async () => {
  const service = await startNotebook([() => new Promise(() => {})]);
  const { json } = await service.post('/v1/agent/run', {
    env_name: 'notebook',
    scenario_name: 'write',
    model: 'writer',
  });
  const { trace_id } = json as { trace_id: string };
  const running = await service.post('/v1/agent/run', { fork: { trace_id, after_step: 0 } });
  expect(errorOf(running)).toEqual([409, 'run_running', null]);
  service.code.setupFault = 'no paper';
  const failed = await service.write();
  const refused = await service.post('/v1/agent/run', { fork: { trace_id: failed, after_step: 0 } });
  expect(errorOf(refused)).toEqual([400, 'invalid_parameter', 'fork.after_step']);
});

it('a parent that is deleted before its fork begins fails the run', async () => {
  const service = await startNotebook([NOTE_A, says('a')], { worker: false });
  const { json } = await service.post('/v1/agent/run', {
    env_name: 'notebook',
    scenario_name: 'write',
    model: 'writer',
  });
  const { trace_id } = json as { trace_id: string };
  // Nobody executes runs here: the trace is written by hand.
  await service.store.append(trace_id, 1, [
    { type: 'turn.started', turn: 1, messages: [] },
    { type: 'run.finished', status: 'completed', stop_reason: 'answered', reward: 1, error: null },
  ]);
  const accepted = await service.post('/v1/agent/run', { fork: { trace_id, after_step: 0 } });
  await service.store.remove(trace_id);
  const worker = await startNotebook([], { parts: service });
  const trace = await worker.ended((accepted.json as { trace_id: string }).trace_id);
  expect(trace).toMatchObject({ status: 'failed', error: { boundary: 'worker', code: 'trace_not_found' } });
});

it('a chat of three turns is replayed turn by turn, and can be forked in each', async () => {
  const code = createCode();
  const service = await startNotebook([says('a b c')], { code });
  const environments = new Map([['notebook', createNotebook(code)]]);
  const server = await serve({
    ...{ environments, database: service.database, store: service.store },
    plays: [
      NOTE_A,
      says('One.'),
      NOTE_B,
      says('Two.'),
      calls(['note', { text: 'c' }], ['picture', {}]),
      says('Three.'),
    ],
  });
  const first = svcOf(await server.chat('Begin.', { scenario: 'write', scenario_args: { words: 'x' } }));
  const thread_id = first.session_id;
  await server.chat('Go on.', { thread_id });
  await server.chat('And once more.', { thread_id });
  await server.post(`/v1/sessions/${thread_id}/finish`, { answer: 'a b c' });
  const { trace_id } = first;
  const before = await service.ended(trace_id);
  expect(before).toMatchObject({ origin: 'chat', status: 'completed', reward: 1 });

  const reply = await service.post(`/v1/traces/${trace_id}/replay`);
  const again = await service.ended((reply.json as { trace_id: string }).trace_id);
  expect(again).toMatchObject({ replay: { identical: true, difference: null }, answer: 'a b c', reward: 1 });
  expect(again.turns.map(({ messages, status, steps }) => [messages, status, steps])).toEqual(
    before.turns.map(({ messages, status, steps }) => [messages, status, steps]),
  );

  const trace = await fork(service, { trace_id, after_step: 5 });
  expect(trace).toMatchObject({ answer: 'a b c', reward: 1 });
  const sent = server.gateway.requests.at(-1)?.body.messages;
  expect(messagesOf(service)).toEqual(sent);
  const early = await fork(service, { trace_id, after_step: 1 });
  expect(early.turns).toHaveLength(1);
  expect(lastAsked(service).slice(1, 4)).toEqual([
    ['user', 'Write notes. x'],
    ['user', 'Begin.'],
    ['assistant', null],
  ]);
});

it('a seat is replayed by its calls, and can be begun anew alone', async () => {
  const service = await startNotebook([says('a')]);
  const seat = await openSeat(service, { env_name: 'notebook', scenario_name: 'write', scenario_args: {} });
  const client = await sitDown(seat);
  await client.callTool({ name: 'note', arguments: { text: 'a' } });
  await client.callTool({ name: 'clock', arguments: {} });
  await client.callTool({ name: 'submit_answer', arguments: { answer: 'a' } });
  const before = await service.ended(seat.trace_id);
  const replay = async () => {
    const reply = await service.post(`/v1/traces/${seat.trace_id}/replay`);
    return await service.ended((reply.json as { trace_id: string }).trace_id);
  };
  const trace = await replay();
  expect(trace).toMatchObject({ replay: { identical: true }, answer: 'a', reward: before.reward, steps: [] });
  expect(trace.tool_calls?.map(({ name }) => name)).toEqual(['note', 'clock']);
  service.code.noted = () => 'written';
  expect((await replay()).replay?.difference).toMatchObject({ at: 'step', step: 0, call: 1 });
  const refused = await service.post('/v1/agent/run', {
    ...{ fork: { trace_id: seat.trace_id, after_step: 1 }, model: 'writer' },
  });
  expect(errorOf(refused)).toEqual([400, 'invalid_parameter', 'fork.after_step']);
});

it('a tool cannot have a fork show bytes of another account', async () => {
  const secret = Buffer.alloc(40_000, 7);
  const service = await startNotebook([calls(['clock', {}]), says(''), says('')]);
  const traceId = await service.write();
  const { key } = await service.accounts.createKey({ name: 'other', account: 'other' });
  const others = await service.post(
    '/v1/agent/run',
    { env_name: 'notebook', scenario_name: 'write', model: 'proctor/noop' },
    { authorization: `Bearer ${key}` },
  );
  const reference = await service.store.putBlob((others.json as { trace_id: string }).trace_id, secret, 'image/png');
  const { body } = await service.database.kysely
    .selectFrom('events')
    .select('body')
    .where('trace_id', '=', traceId)
    .where('type', '=', 'tool.responded')
    .executeTakeFirstOrThrow();
  const event = { ...JSON.parse(body), content: [{ type: 'image', data: reference, mimeType: 'image/png' }] };
  await service.database.kysely
    .updateTable('events')
    .set({ body: JSON.stringify(event) })
    .where('trace_id', '=', traceId)
    .where('type', '=', 'tool.responded')
    .execute();
  await fork(service, { trace_id: traceId, after_step: 1 });
  expect(JSON.stringify(messagesOf(service))).not.toContain(secret.toString('base64').slice(0, 100));
});
