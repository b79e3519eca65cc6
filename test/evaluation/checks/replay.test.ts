import { expect, it } from 'vitest';
import type { Trace } from '../../../src/contract/service/trace.ts';
import { calls, json, says } from '../../gateway.ts';
import { errorOf } from '../../service/chat/server.ts';
import { type NotebookService, startNotebook } from './notebook.ts';

async function replay(service: NotebookService, traceId: string): Promise<Trace> {
  const reply = await service.post(`/v1/traces/${traceId}/replay`);
  expect(reply).toMatchObject({ status: 200, json: { status: 'queued' } });
  return await service.ended((reply.json as { trace_id: string }).trace_id);
}

const IDENTICAL = { identical: true, difference: null };

it('a replay repeats setup and every call with the seed of the run, without a model, and says that nothing differs', async () => {
  const plays = [calls(['note', { text: 'a' }], ['draw', {}]), calls(['tear', {}], ['note', '{"text":']), says('a')];
  const service = await startNotebook(plays);
  const traceId = await service.write({ seed: 11 });
  const before = await service.ended(traceId);
  expect(before).toMatchObject({ reward: 1, parent: null, replay: null, grades: [] });
  const trace = await replay(service, traceId);
  expect(trace).toMatchObject({
    origin: 'replay',
    parent: { trace_id: traceId, kind: 'replay' },
    replay: IDENTICAL,
    status: 'completed',
    stop_reason: 'answered',
    outcome: 'graded',
    model: 'writer',
    answer: 'a',
    reward: 1,
    usage: { model_calls: 0, tool_calls: 0, total_tokens: 0 },
  });
  expect(trace.steps.map(({ repeated }) => repeated)).toEqual([true, true, true]);
  const shown = ({ steps }: Trace) =>
    steps.map((step) => [step.message, step.tool_results.map(({ content }) => content)]);
  expect(shown(trace)).toEqual(shown(before));
  expect(service.code.seeds).toEqual([11, 11]);
  expect(service.asked).toHaveLength(3);
});

it('what a scenario calls volatile is no difference', async () => {
  const service = await startNotebook([calls(['clock', {}], ['stamp', {}]), says('')]);
  const trace = await replay(service, await service.write());
  expect(trace.replay).toEqual(IDENTICAL);
});

it('images are compared by their bytes', async () => {
  const service = await startNotebook([calls(['picture', {}]), says('')]);
  const traceId = await service.write();
  expect((await replay(service, traceId)).replay).toEqual(IDENTICAL);
  service.code.pixels = 2;
  expect((await replay(service, traceId)).replay?.difference).toMatchObject({ at: 'step', step: 1, call: 1 });
});

it('the first difference is told with both observations, and the recorded calls go on after it', async () => {
  const plays = [calls(['note', { text: 'a' }]), calls(['draw', {}], ['note', { text: 'b' }]), says('a b')];
  const service = await startNotebook(plays);
  const traceId = await service.write();
  service.code.noted = (text, count) => (count === 2 ? `${text}!` : `${count}: ${text}`);
  const calledBefore = service.code.calls.length;
  const trace = await replay(service, traceId);
  expect(trace.replay).toEqual({
    identical: false,
    difference: {
      at: 'step',
      step: 2,
      call: 2,
      before: { content: [{ type: 'text', text: '2: b' }], structured_content: null, is_error: false },
      after: { content: [{ type: 'text', text: 'b!' }], structured_content: null, is_error: false },
    },
  });
  expect(trace).toMatchObject({ status: 'completed', reward: 1, answer: 'a b' });
  expect(service.code.calls.slice(calledBefore)).toEqual(['note', 'draw', 'note']);
});

it('another prompt, other tools and another reward are differences', async () => {
  const service = await startNotebook([calls(['note', { text: 'a' }]), says('a')]);
  const traceId = await service.write({ scenario_args: { words: 'a' } });
  service.code.reward = () => 0.5;
  expect((await replay(service, traceId)).replay?.difference).toEqual({
    ...{ at: 'reward', step: null, call: null, before: 1, after: 0.5 },
  });
  service.code.extraTool = true;
  expect((await replay(service, traceId)).replay?.difference).toMatchObject({
    ...{ at: 'tools', before: [], after: [{ name: 'erase' }] },
  });
  service.code.greeting = 'Write!';
  expect((await replay(service, traceId)).replay?.difference).toMatchObject({
    at: 'prompt',
    before: { prompt: [{ content: 'Write notes. a' }] },
    after: { prompt: [{ content: 'Write! a' }] },
  });
});

it('a failed run is repeated up to its failure, evaluated, and fails as it did', async () => {
  const service = await startNotebook([calls(['note', { text: 'a' }]), json(400, { error: { message: 'No.' } })]);
  const traceId = await service.write();
  const before = await service.ended(traceId);
  expect(before).toMatchObject({ status: 'failed', error: { boundary: 'model' }, reward: null });
  const trace = await replay(service, traceId);
  expect(trace).toMatchObject({ status: 'failed', reward: null, replay: IDENTICAL, error: before.error });
  expect(trace.evaluation).toEqual(before.evaluation);
});

it('a run whose setup has failed is set up again, and that it can be is a difference', async () => {
  const service = await startNotebook();
  service.code.setupFault = 'no paper';
  const traceId = await service.write();
  expect((await replay(service, traceId)).replay).toEqual(IDENTICAL);
  service.code.setupFault = undefined;
  const trace = await replay(service, traceId);
  expect(trace.replay?.difference).toMatchObject({
    at: 'prompt',
    before: { error: { boundary: 'setup' } },
    after: null,
  });
});

it('a run whose evaluation has failed is evaluated again', async () => {
  const service = await startNotebook([calls(['note', { text: 'a' }]), says('a')]);
  service.code.evaluateFault = 'no red pen';
  const traceId = await service.write();
  expect(await service.ended(traceId)).toMatchObject({ outcome: 'grader_error' });
  service.code.evaluateFault = undefined;
  const trace = await replay(service, traceId);
  expect(trace).toMatchObject({ status: 'completed', stop_reason: 'answered', reward: 1 });
  expect(trace.replay?.difference).toMatchObject({ at: 'reward', before: null, after: 1 });
});

it('a run that used up its steps ends so again', async () => {
  const service = await startNotebook([calls(['note', { text: 'a' }])]);
  const traceId = await service.write({ max_steps: 2 });
  const trace = await replay(service, traceId);
  expect(trace).toMatchObject({ status: 'completed', stop_reason: 'max_steps', replay: IDENTICAL });
  expect(trace.steps).toHaveLength(2);
});

it('an environment that cannot be set up today fails the replay, which differs', async () => {
  const service = await startNotebook([says('')]);
  const traceId = await service.write();
  service.code.setupFault = 'no paper';
  const trace = await replay(service, traceId);
  expect(trace).toMatchObject({ status: 'failed', error: { boundary: 'setup' } });
  expect(trace.replay?.difference).toMatchObject({
    at: 'prompt',
    before: null,
    after: { error: { boundary: 'setup' } },
  });
});

it('a replay of a replay repeats the same calls', async () => {
  const service = await startNotebook([calls(['note', { text: 'a' }]), says('a')]);
  const first = await replay(service, await service.write());
  expect((await replay(service, first.trace_id)).replay).toEqual(IDENTICAL);
});

it('traces that are deleted while they are replayed leave replays that say so, or were whole', async () => {
  const service = await startNotebook([calls(['note', { text: 'a' }]), says('a')]);
  const traceId = await service.write();
  const accepted = await Promise.all(Array.from({ length: 8 }, () => service.post(`/v1/traces/${traceId}/replay`)));
  await service.request(`/v1/traces/${traceId}`, { method: 'DELETE' });
  for (const { json: reply } of accepted) {
    const { replay: result, error } = await service.ended((reply as { trace_id: string }).trace_id);
    if (result?.identical !== true) expect(error).toMatchObject({ boundary: 'worker', code: 'trace_not_found' });
  }
});

it('a large difference is told from where the two part', async () => {
  const service = await startNotebook([calls(['note', { text: 'a' }]), says('a')]);
  service.code.noted = () => `${'x'.repeat(100_000)}1`;
  const traceId = await service.write();
  service.code.noted = () => `${'x'.repeat(100_000)}2`;
  const { replay: result } = await replay(service, traceId);
  expect(JSON.stringify(result).length).toBeLessThan(3_000);
  expect(result?.difference?.before).toMatch(/^… .*x1"/);
});

it('a trace that is not there, of another account or that still runs is refused', async () => {
  const service = await startNotebook([() => new Promise(() => {})]);
  const { json: accepted } = await service.post('/v1/agent/run', {
    ...{ env_name: 'notebook', scenario_name: 'write', model: 'writer' },
  });
  const { trace_id: traceId } = accepted as { trace_id: string };
  expect(errorOf(await service.post(`/v1/traces/${traceId}/replay`))).toEqual([409, 'run_running', null]);
  expect(errorOf(await service.post(`/v1/traces/${'0'.repeat(32)}/replay`))).toEqual([404, 'trace_not_found', null]);
  const { key } = await service.accounts.createKey({ name: 'other', account: 'other' });
  const others = await service.post(`/v1/traces/${traceId}/replay`, {}, { authorization: `Bearer ${key}` });
  expect(errorOf(others)).toEqual([404, 'trace_not_found', null]);
});
