import { describe, expect, it } from 'vitest';
import { registeredModelListSchema, registeredModelSchema } from '../../../src/contract/model.ts';
import { evaluationAcceptedSchema, evaluationDetailSchema } from '../../../src/contract/service/evaluation.ts';
import { modelListSchema } from '../../../src/contract/service/run.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { startBusyGateway } from '../../busy-gateway.ts';
import type { Reply } from '../../support/http/http-server.ts';
import { startService, type TestService, traceIdOf } from './service.ts';

const PATH = '/v1/models/registered';
const MODEL = {
  name: 'clerk',
  target: 'ft:base:final',
  base: 'base',
  checkpoints: [
    { step: 20, target: 'ft:base:20', metrics: { train_loss: 0.5 } },
    { step: 10, target: 'ft:base:10' },
  ],
};

async function change(service: TestService, method: string, path: string, body?: object): Promise<Reply> {
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  return await service.request(path, { method, headers: { 'content-type': 'application/json' }, ...json });
}

/** A service with two gateways; each says which models it was asked for. */
async function start() {
  const [common, other] = [await startBusyGateway({}), await startBusyGateway({})];
  const models = createModels({
    gateways: [
      { pattern: 'other-*', baseUrl: other.url },
      { pattern: '*', baseUrl: common.url },
    ],
  });
  const service = await startService({ models });
  const modelsOf = (gateway: typeof common) => gateway.bodies.map((body) => Reflect.get(body, 'model'));
  return { service, asked: () => modelsOf(common), askedOther: () => modelsOf(other) };
}

async function play(service: TestService, model: string) {
  return await service.ended(traceIdOf(await service.run({ model })));
}

describe('registered models', { timeout: 60_000 }, () => {
  it('are added, read, listed in order of name, changed and removed', async () => {
    const { service } = await start();
    const added = await change(service, 'POST', PATH, MODEL);
    expect(added.status, added.text).toBe(200);
    const shown = registeredModelSchema.parse(added.json);
    expect(shown).toMatchObject({
      ...MODEL,
      head: null,
      gateway: null,
      training_job: null,
      checkpoints: [{ step: 10 }, { step: 20 }],
    });
    await change(service, 'POST', PATH, { name: 'baker', target: 'b' });
    const { data } = registeredModelListSchema.parse((await service.request(PATH)).json);
    expect(data.map(({ name }) => name)).toEqual(['baker', 'clerk']);

    const patched = await change(service, 'PATCH', `${PATH}/clerk`, {
      head: 30,
      checkpoints: [{ step: 30, target: 'ft:base:30' }],
    });
    expect(patched.json).toMatchObject({ head: 30, target: 'ft:base:final', base: 'base' });
    expect((await change(service, 'PATCH', `${PATH}/clerk`, { head: null })).json).toMatchObject({ head: null });
    expect((await change(service, 'DELETE', `${PATH}/clerk`)).status).toBe(204);
    const gone = await service.request(`${PATH}/clerk`);
    expect([gone.status, gone.text]).toEqual([404, expect.stringMatching(/model_not_found/)]);
    expect(gone.text).toContain('there are baker');
  });

  it('have names that are taken once, and heads that are checkpoints', async () => {
    const { service } = await start();
    await change(service, 'POST', PATH, MODEL);
    const again = await change(service, 'POST', PATH, MODEL);
    expect([again.status, again.json]).toMatchObject([409, { error: { code: 'name_taken', param: 'name' } }]);
    const headless = await change(service, 'PATCH', `${PATH}/clerk`, {
      head: 15,
      checkpoints: [{ step: 16, target: 'x' }],
    });
    expect([headless.status, headless.json]).toMatchObject([
      404,
      { error: { code: 'model_not_found', param: 'head' } },
    ]);
    expect(headless.text).toContain('it has 10, 16, 20');
    // Nothing of a change that is refused is kept.
    expect((await service.request(`${PATH}/clerk`)).json).toMatchObject({ checkpoints: [{ step: 10 }, { step: 20 }] });
    for (const name of ['', '-a', 'a/b', 'a@1', 'a:b', 'x'.repeat(65)]) {
      const refused = await change(service, 'POST', PATH, { name, target: 't' });
      expect([refused.status, refused.json]).toMatchObject([400, { error: { param: 'name' } }]);
    }
  });

  it('belong to an account, which alone sees and uses them', async () => {
    const { service, asked } = await start();
    await change(service, 'POST', PATH, MODEL);
    const { key } = await service.accounts.createKey({ name: 'other', account: 'other' });
    const headers = { authorization: `Bearer ${key}` };
    expect((await service.request(PATH, { headers })).json).toMatchObject({ data: [] });
    expect((await service.request(`${PATH}/clerk`, { headers })).status).toBe(404);
    const reply = await service.run({ model: 'clerk' }, headers);
    const trace = await service.request(`/v1/traces/${traceIdOf(reply)}?wait=60`, { headers });
    expect(trace.json).toMatchObject({ model: 'clerk', model_target: 'clerk' });
    expect(new Set(asked())).toEqual(new Set(['clerk']));
  });

  it('mean their target, their head, or the checkpoint that is named; a registered name wins over a raw one', async () => {
    const { service, asked } = await start();
    await change(service, 'POST', PATH, MODEL);
    expect(await play(service, 'clerk')).toMatchObject({ model: 'clerk', model_target: 'ft:base:final' });
    expect(await play(service, 'clerk@10')).toMatchObject({ model: 'clerk@10', model_target: 'ft:base:10' });
    await change(service, 'PATCH', `${PATH}/clerk`, { head: 20 });
    expect(await play(service, 'clerk')).toMatchObject({ model: 'clerk', model_target: 'ft:base:20' });
    expect(await play(service, 'raw@10')).toMatchObject({ model: 'raw@10', model_target: 'raw@10' });
    expect([...new Set(asked())]).toEqual(['ft:base:final', 'ft:base:10', 'ft:base:20', 'raw@10']);

    for (const model of ['clerk@11', 'clerk@', 'clerk@x']) {
      const refused = await service.run({ model });
      expect([refused.status, refused.json]).toMatchObject([
        404,
        { error: { code: 'model_not_found', param: 'model' } },
      ]);
    }
  });

  it('are refused at once where they mean a model of proctor/imitation that nobody has made', async () => {
    const { service } = await start();
    const model = `proctor/imitation:${'0'.repeat(64)}`;
    await change(service, 'POST', PATH, { name: 'lost', target: model });
    const wanted = [404, { error: { code: 'model_not_found', param: 'model' } }];
    for (const name of [model, 'lost']) {
      const refused = await service.run({ model: name });
      expect([refused.status, refused.json]).toMatchObject(wanted);
    }
    const tasks = [{ id: 'one', env: 'counter', scenario: 'count_to', args: { target: 3 } }];
    const evaluation = await change(service, 'POST', '/v1/evaluations', { tasks, models: [model] });
    expect([evaluation.status, evaluation.json]).toMatchObject([404, { error: { code: 'model_not_found' } }]);
  });

  it('may name their gateway, which is asked whatever their target looks like', async () => {
    const { service, asked, askedOther } = await start();
    await change(service, 'POST', PATH, { name: 'far', target: 'plain', gateway: 'other-*' });
    expect(await play(service, 'far')).toMatchObject({ status: 'completed', model_target: 'plain' });
    expect([new Set(askedOther()), asked()]).toEqual([new Set(['plain']), []]);
    await change(service, 'POST', PATH, { name: 'lost', target: 'plain', gateway: 'gone-*' });
    const refused = await service.run({ model: 'lost' });
    expect([refused.status, refused.json]).toMatchObject([404, { error: { code: 'model_not_found' } }]);
    expect(refused.text).toContain('no key of \\"gateways\\"');
  });

  it('come first in the list of models', async () => {
    const { service } = await start();
    await change(service, 'POST', PATH, MODEL);
    const { data } = modelListSchema.parse((await service.request('/v1/models')).json);
    expect(data.slice(0, 2)).toMatchObject([{ id: 'clerk', owned_by: 'registered' }, { id: 'proctor/oracle' }]);
  });

  it('keep their meaning in an evaluation that has begun; the same evaluation with a moved head is another one', async () => {
    const { service, asked } = await start();
    await change(service, 'POST', PATH, { ...MODEL, head: 10 });
    const tasks = [{ id: 'one', env: 'counter', scenario: 'count_to', args: { target: 3 } }];
    const evaluate = async () => {
      const reply = await change(service, 'POST', '/v1/evaluations', { tasks, models: ['clerk'], resume: true });
      expect(reply.status, reply.text).toBe(200);
      const { evaluation_id: id } = evaluationAcceptedSchema.parse(reply.json);
      const ended = await service.request(`/v1/evaluations/${id}?wait=60`);
      return evaluationDetailSchema.parse(ended.json);
    };
    const first = await evaluate();
    expect(first).toMatchObject({ status: 'completed', models: ['clerk'], reports: [{ model: 'clerk' }] });
    await change(service, 'PATCH', `${PATH}/clerk`, { head: 20 });
    // More attempts of the first one still ask the checkpoint that it began with.
    await change(service, 'PATCH', `/v1/evaluations/${first.evaluation_id}`, { attempts: 2 });
    await service.request(`/v1/evaluations/${first.evaluation_id}?wait=60`);
    expect(new Set(asked())).toEqual(new Set(['ft:base:10']));
    const second = await evaluate();
    expect(second.evaluation_id).not.toBe(first.evaluation_id);
    expect(new Set(asked())).toEqual(new Set(['ft:base:10', 'ft:base:20']));
    const { json } = await service.request('/v1/traces?model=clerk');
    expect(JSON.stringify(json)).toContain('"model_target":"ft:base:20"');
  });
});
