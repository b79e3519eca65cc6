import { describe, expect, it } from 'vitest';
import { errorBodySchema } from '../../../src/contract/error-shapes.ts';
import { attemptListSchema, evaluationAcceptedSchema } from '../../../src/contract/service/evaluation.ts';
import { TABLE_COLUMNS } from '../../../src/store/formats/attempt-table.ts';
import { readCsv } from '../../store/formats/csv.ts';
import { startService, type TestService } from './service.ts';

const TASKS = ['=1+1', 'plain', 'Grüße, "Welt"'].map((id, target) => ({
  id,
  env: 'counter',
  scenario: 'count_to',
  args: { target },
}));

async function evaluate(service: TestService): Promise<string> {
  const { json } = await service.request('/v1/evaluations', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tasks: TASKS, models: ['proctor/oracle', 'proctor/noop'], attempts: 2 }),
  });
  const { evaluation_id } = evaluationAcceptedSchema.parse(json);
  await service.request(`/v1/evaluations/${evaluation_id}?wait=60`);
  return evaluation_id;
}

describe('GET /v1/evaluations/{id}/attempts?format=', () => {
  it('answers with a file of all attempts, whose rows are those of the list', async () => {
    const service = await startService();
    const path = `/v1/evaluations/${await evaluate(service)}/attempts`;
    const list = attemptListSchema.parse((await service.request(path)).json).data;
    const csv = await service.request(`${path}?format=csv`);
    expect([csv.status, csv.headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(csv.headers['content-disposition']).toMatch(/^attachment; filename="eval_[0-9a-f]{32}-attempts\.csv"$/);
    const [head = [], ...rows] = readCsv(csv.text.replace(/^\u{FEFF}/u, ''));
    expect(head).toEqual(TABLE_COLUMNS);
    const column = (name: string) => rows.map((row) => row[head.indexOf(name)]);
    expect(column('trace_id')).toEqual(list.map(({ trace_id }) => trace_id));
    expect(column('reward')).toEqual(list.map(({ reward }) => String(reward)));
    expect([...new Set(column('task_id'))].toSorted()).toEqual(["'=1+1", 'Grüße, "Welt"', 'plain']);

    const lines = await fetch(`${service.url}${path}?format=jsonl&model=proctor/noop`, {
      headers: { authorization: `Bearer ${service.key}` },
    });
    const objects = (await lines.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(objects.map(({ task_id, model }) => [task_id, model])).toEqual(
      list.filter(({ model }) => model === 'proctor/noop').map(({ task_id, model }) => [task_id, model]),
    );
  });

  it('refuses before it sends anything: no such evaluation, model or format, and the words of pages', async () => {
    const service = await startService();
    const path = `/v1/evaluations/${await evaluate(service)}/attempts`;
    const refused = async (asked: string) => {
      const { status, json } = await service.request(asked);
      const { code, param } = errorBodySchema.parse(json).error;
      return [status, code, param];
    };
    const none = `/v1/evaluations/eval_${'0'.repeat(32)}/attempts?format=csv`;
    expect(await refused(none)).toEqual([404, 'evaluation_not_found', null]);
    expect(await refused(`${path}?format=csv&model=none`)).toEqual([400, 'invalid_parameter', 'model']);
    expect(await refused(`${path}?format=xlsx`)).toEqual([400, 'invalid_parameter', 'format']);
    expect(await refused(`${path}?format=csv&limit=5`)).toEqual([400, 'invalid_parameter', 'limit']);
    const head = await service.request(`${path}?format=csv`, { method: 'HEAD' });
    expect([head.status, head.headers['content-type'], head.text]).toEqual([200, 'text/csv; charset=utf-8', '']);
  });
});
