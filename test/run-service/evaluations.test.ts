import { describe, expect, it } from 'vitest';
import { attemptListSchema, evaluationAcceptedSchema, evaluationDetailSchema } from '../../src/contract/evaluation.ts';
import { startService, type TestService } from './service.ts';

export const TASKS = [2, 3, 4].map((target) => ({
  id: `count-${target}`,
  env: 'counter',
  scenario: 'count_to',
  args: { target },
}));

export async function createEvaluation(service: TestService, body: object = {}) {
  const reply = await service.request('/v1/evaluations', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tasks: TASKS, models: ['proctor/oracle'], ...body }),
  });
  return reply;
}

describe('evaluations of a run service', () => {
  it('runs every task with every model, as often as was asked', async () => {
    const service = await startService();
    const reply = await createEvaluation(service, { models: ['proctor/oracle', 'proctor/noop'], attempts: 2, seed: 7 });
    expect(reply.status, reply.text).toBe(200);
    const { evaluation_id: id } = evaluationAcceptedSchema.parse(reply.json);
    const ended = await service.request(`/v1/evaluations/${id}?wait=60`);
    console.log(ended.text);
    const evaluation = evaluationDetailSchema.parse(ended.json);
    expect(evaluation.status).toBe('completed');
    const attempts = attemptListSchema.parse((await service.request(`/v1/evaluations/${id}/attempts`)).json);
    console.log(attempts.data.slice(0, 5));
    expect(attempts.data).toHaveLength(12);
  });
});
