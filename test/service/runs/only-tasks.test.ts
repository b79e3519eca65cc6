import { describe, expect, it } from 'vitest';
import { errorBodySchema } from '../../../src/contract/error-shapes.ts';
import { evaluationAcceptedSchema, evaluationDetailSchema } from '../../../src/contract/service/evaluation.ts';
import { startService, type TestService } from './service.ts';

/** A model that does nothing passes the first one alone. */
const TASKS = [0, 1, 2].map((target) => ({
  id: `count-${target}`,
  env: 'counter',
  scenario: 'count_to',
  args: { target },
  tags: target === 0 ? ['none'] : ['some'],
}));

async function post(service: TestService, body: object) {
  return await service.request('/v1/evaluations', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tasks: TASKS, models: ['proctor/noop'], ...body }),
  });
}

/** The evaluation of a request, once it has ended. */
async function ended(service: TestService, body: object) {
  const reply = await post(service, body);
  expect(reply.status, reply.text).toBe(200);
  const { evaluation_id, is_new } = evaluationAcceptedSchema.parse(reply.json);
  const { json } = await service.request(`/v1/evaluations/${evaluation_id}?wait=60`);
  return { isNew: is_new, ...evaluationDetailSchema.parse(json) };
}

async function refusal(service: TestService, body: object) {
  const { status, json } = await post(service, body);
  const { message, param } = errorBodySchema.parse(json).error;
  return { status, message, param };
}

describe('POST /v1/evaluations', { timeout: 120_000 }, () => {
  it('chooses among the tasks by `only`, of which all hold', async () => {
    const service = await startService();
    expect(await ended(service, { only: ['tag=some', 'first=1'] })).toMatchObject({ taskset: { tasks: 1 } });
    expect(await refusal(service, { only: ['tag=zz'] })).toMatchObject({
      status: 400,
      param: 'only',
      message: expect.stringContaining('No task of 3 is left'),
    });
    expect(await refusal(service, { only: ['tags=x'] })).toMatchObject({ status: 400, param: 'only' });
  });

  it('plays the tasks below the threshold once more with `failed`, and what it began before with `errored`', async () => {
    const service = await startService();
    const none = { param: 'only', message: expect.stringContaining('there is none of these settings') };
    expect(await refusal(service, { only: ['failed'] })).toMatchObject(none);
    expect(await refusal(service, { only: ['errored'], resume: true })).toMatchObject(none);
    const first = await ended(service, { resume: true });
    const failed = await ended(service, { only: ['failed'], resume: true });
    expect(failed).toMatchObject({ isNew: true, parent: first.evaluation_id, taskset: { tasks: 2 } });
    const again = await ended(service, { only: ['errored'], resume: true, attempts: 2 });
    expect(again).toMatchObject({ isNew: false, evaluation_id: first.evaluation_id, progress: { done: 6 } });
    expect(await refusal(service, { only: ['errored'] })).toMatchObject({
      param: 'only',
      message: expect.stringContaining('give "resume"'),
    });
    expect(await refusal(service, { only: ['failed', 'errored'], resume: true })).toMatchObject({ param: 'only' });
  });

  it('names the taskset and the places of its tasks by `tasks_from`', async () => {
    const service = await startService();
    const from = { name: 'small', file: 'small.jsonl', by: 'line', positions: [1, 3, 7] };
    expect((await ended(service, { tasks_from: from })).taskset.name).toBe('small');
    const [first, second, third] = TASKS;
    const tasks = [first, { ...third, args: { target: -1 } }, second];
    expect((await refusal(service, { tasks, tasks_from: from })).message).toMatch(/^small\.jsonl:3: args\.target: /);
    expect((await refusal(service, { tasks })).message).toMatch(/^tasks\[1\]\.args\.target: /);
  });
});
