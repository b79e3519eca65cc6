import { expect, it } from 'vitest';
import { type Regrade, regradeSchema } from '../../../src/contract/service/regrade.ts';
import { until } from '../../until.ts';
import { createHouse, type HouseService, SERVE, startHouse } from './tea-house.ts';

const YES = '{"score": true, "reason": "It is."}';
const NO = '{"score": false, "reason": "It is not."}';
const TALK = { waiter: [{ tool: 'pour' }, 'Here it is.'], guest: ['###STOP###'], critic: [YES] };

async function regrade(service: HouseService, traceId: string, body?: object): Promise<Regrade> {
  const reply = await service.post(`/v1/traces/${traceId}/regrade`, body);
  const { job_id } = reply.json as { job_id: string };
  return await until(async () => {
    const job = regradeSchema.parse((await service.request(`/v1/regrades/${job_id}`)).json);
    return job.status === 'completed' && job;
  });
}

it('a regrade takes the recorded votes, whatever else of the evaluation has changed', async () => {
  const service = await startHouse(createHouse({ lines: { ...TALK }, reward: (_seen, score) => score }));
  const { house } = service;
  const { trace_id } = await service.begun('/v1/agent/run', SERVE);
  const asked = house.asked.length;
  house.reward = (_seen, score) => score / 2;
  const job = await regrade(service, trace_id);
  expect(job).toMatchObject({ fresh: false, rows: [{ outcome: 'changed', before: 1, after: 0.5 }] });
  expect(house.asked).toHaveLength(asked);
  house.votes = 3;
  await regrade(service, trace_id);
  expect(house.asked.slice(asked)).toEqual(['critic', 'critic', 'critic']);
});

it('it asks judges about another rubric, and remembers what they say', async () => {
  const service = await startHouse(createHouse({ lines: { ...TALK }, reward: (_seen, score) => score }));
  const { house } = service;
  const { trace_id } = await service.begun('/v1/agent/run', SERVE);
  const asked = house.asked.length;
  house.rubric = 'It is short.';
  house.lines.critic = [NO];
  expect((await regrade(service, trace_id)).rows).toMatchObject([{ outcome: 'changed', after: 0 }]);
  expect((await regrade(service, trace_id)).rows).toMatchObject([{ outcome: 'changed', after: 0 }]);
  expect(house.asked.slice(asked)).toEqual(['critic', 'critic']);
});

it('a fresh one asks judges again about everything', async () => {
  const service = await startHouse(createHouse({ lines: { ...TALK }, reward: (_seen, score) => score }));
  const { house } = service;
  const { trace_id } = await service.begun('/v1/agent/run', SERVE);
  const asked = house.asked.length;
  house.lines.critic = [NO];
  const job = await regrade(service, trace_id, { fresh: true });
  expect(job).toMatchObject({ fresh: true, rows: [{ outcome: 'changed', before: 1, after: 0 }] });
  expect(house.asked.slice(asked)).toEqual(['critic', 'critic']);
  const replay = await service.ended(job.rows[0]?.replay_trace_id ?? '');
  expect(replay).toMatchObject({ parent: { fresh: true }, usage: { judge: { model_calls: 2 } } });
  const refused = await service.post(`/v1/traces/${trace_id}/regrade`, { fresh: 'yes' });
  expect(refused).toMatchObject({ status: 400, json: { error: { param: 'fresh' } } });
});

it('a judge of another name is asked, unless the run had chosen its own', async () => {
  const house = createHouse({ lines: { ...TALK, stern: [NO] }, reward: (_seen, score) => score });
  const service = await startHouse(house);
  const { trace_id } = await service.begun('/v1/agent/run', SERVE);
  const chosen = await service.begun('/v1/agent/run', { ...SERVE, judge_model: 'critic' });
  await service.close();
  const other = await startHouse(house, { harness: { judge: 'stern' }, parts: service });
  const asked = house.asked.length;
  expect((await regrade(other, chosen.trace_id)).rows).toMatchObject([{ outcome: 'same' }]);
  expect(house.asked).toHaveLength(asked);
  expect((await regrade(other, trace_id)).rows).toMatchObject([{ outcome: 'changed', after: 0 }]);
  expect(house.asked.slice(asked)).toEqual(['stern', 'stern']);
});
