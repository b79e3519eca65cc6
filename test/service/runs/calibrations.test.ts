import { describe, expect, it } from 'vitest';
import { createServiceClient } from '../../../src/client/service-client.ts';
import type { CalibrationEvent } from '../../../src/contract/service/judge.ts';
import type { ModelRequest } from '../../../src/models/gateway/chat-model.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { delta } from '../../gateway.ts';
import { deferred } from '../../support/http/http-server.ts';
import { until } from '../../until.ts';
import { startService, type TestService } from './service.ts';

const polite = (id: string, material: string, label: boolean) => ({ id, rubric: 'Polite?', material, label });

/** Models of a gateway that says of each material whether it holds "please". */
const JUDGES = createModels({
  client: {
    chat: {
      completions: {
        create: async (body: object) => {
          const score = JSON.stringify(body).includes('please');
          return (async function* () {
            yield delta({ role: 'assistant', content: JSON.stringify({ score, reason: 'seen' }) });
            yield delta({}, 'stop');
          })();
        },
      },
    },
  },
});

async function readAll(events: AsyncIterable<CalibrationEvent>): Promise<readonly CalibrationEvent[]> {
  const all: CalibrationEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const clientOf = (service: TestService) => createServiceClient({ baseUrl: service.url, apiKey: service.key });

const post = (service: TestService, body: object, headers: Readonly<Record<string, string>> = {}) =>
  service.request('/v1/calibrations', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

describe('the calibration of a judge at a service', { timeout: 60_000 }, () => {
  it('sends progress, and last the figures with the name of the judge', async () => {
    const service = await startService({ models: JUDGES, worker: false });
    const cases = [polite('a', 'Yes, please.', true), polite('b', 'No.', false), polite('c', 'Thank you.', true)];
    const events = await readAll(clientOf(service).judges.calibrate({ model: 'critic', cases, votes: 3 }));
    expect(events.slice(0, -1)).toEqual([1, 2, 3].map((done) => ({ type: 'progress', done, cases: 3 })));
    const last = events.at(-1);
    expect(last).toMatchObject({
      type: 'calibration',
      model: 'critic',
      calibration: { cases: 3, by_votes: [{ votes: 1 }, { votes: 3 }] },
    });
    expect(last).toHaveProperty(
      ['calibration', 'by_votes', 0, 'disagreements'],
      [{ id: 'c', label: true, score: 0, reasons: ['seen'] }],
    );
    expect(await service.countRuns()).toBe(0);
  });

  it('is told with its status what it is refused for', async () => {
    const service = await startService({ models: JUDGES, worker: false });
    const cases = [polite('a', 'Yes, please.', true)];
    const refused = async (body: object, headers?: Readonly<Record<string, string>>) => {
      const { status, json } = await post(service, body, headers);
      const { code, param, message } = (json as { error: Record<string, string> }).error;
      return [status, code, param, message];
    };
    expect(await refused({ model: 'critic', cases }, { authorization: 'Bearer wrong' })).toMatchObject({
      0: 401,
      1: 'invalid_api_key',
    });
    expect(await refused({ cases })).toEqual([
      400,
      'missing_required_parameter',
      'model',
      expect.stringContaining('models.judge'),
    ]);
    const oracle = await refused({ model: 'proctor/oracle', cases });
    expect(oracle).toEqual([400, 'invalid_parameter', 'model', expect.stringContaining('proctor/oracle')]);
    const twice = await refused({ model: 'critic', cases: [...cases, ...cases] });
    expect(twice).toEqual([400, 'invalid_parameter', 'cases.1.id', expect.stringContaining('cases.0')]);
    const mislabelled = await refused({ model: 'critic', cases: [{ ...cases[0], label: 3 }] });
    expect(mislabelled.slice(0, 3)).toEqual([400, 'invalid_parameter', 'cases.0.label']);
    const mixed = [...cases, { ...cases[0], id: 'b', label: 3, scale: { min: 1, max: 5 } }];
    expect((await refused({ model: 'critic', cases: mixed })).slice(0, 3)).toEqual([400, 'invalid_parameter', 'cases']);
    const four = await refused({ model: 'critic', cases, votes: 4 });
    expect(four).toEqual([400, 'invalid_parameter', 'votes', expect.stringContaining('1, 3, 5')]);
    const unserved = await startService({ worker: false });
    expect((await post(unserved, { model: 'critic', cases })).json).toMatchObject({
      error: { code: 'model_not_found', param: 'model' },
    });
  });

  it('runs once at a time for an account, and ends its questions when the client goes away', async () => {
    const asked = deferred<void>();
    const open = new Set<object>();
    const respond = async (question: ModelRequest) => {
      const { signal } = question;
      open.add(question);
      asked.resolve();
      return await new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          open.delete(question);
          reject(signal.reason);
        });
      });
    };
    const models = { ...JUDGES, create: () => ({ name: 'critic', respond }) };
    const service = await startService({ models: { ...models, serving: () => models }, worker: false });
    const request = { model: 'critic', cases: [polite('a', 'Yes, please.', true)] };
    const gone = new AbortController();
    const first = readAll(clientOf(service).judges.calibrate(request, { signal: gone.signal }));
    first.catch(() => {});
    await asked.promise;
    expect((await post(service, request)).json).toMatchObject({ error: { code: 'quota_exceeded' } });
    expect(open.size).toBe(5);
    gone.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    await until(() => open.size === 0);
  });

  it('fails with the first case where no case can be judged', async () => {
    const respond = () => Promise.reject(new Error('The gateway at /srv/secret/gateway.js:3 is broken'));
    const models = { ...JUDGES, create: () => ({ name: 'critic', respond }) };
    const service = await startService({ models: { ...models, serving: () => models }, worker: false });
    const reply = await post(service, { model: 'critic', cases: [polite('a', 'Yes, please.', true)] });
    const message = 'The case "a" could not be judged: The gateway at [path] is broken';
    expect(reply).toMatchObject({ status: 200, text: expect.stringContaining(JSON.stringify(message)) });
  });
});
