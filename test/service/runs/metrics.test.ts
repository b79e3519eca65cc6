import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { startScenarioServer } from '../../../src/service/chat/start.ts';
import { startRunService } from '../../../src/service/runs/start.ts';
import { send } from '../../support/http/http-server.ts';
import { APP_URL, COUNTER, openParts, SLOW_RUN, startService, traceIdOf, untilToolCalled } from './service.ts';

/** The values of a text, by name and labels as they are written. */
function parse(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

async function scrape(url: string): Promise<ReadonlyMap<string, number>> {
  const reply = await send(url, '/metrics');
  expect(reply.status).toBe(200);
  expect(reply.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
  return parse(reply.text);
}

test('metrics.form: requests by route and status, runs, model and tool calls, the queue and the process', async () => {
  const service = await startService();
  await service.run({}, { prefer: 'wait=60' });
  await service.run({ model: 'nobody' });
  await service.request('/v1/traces/nonsense');
  await service.request('/nowhere/at/all');
  const slow = traceIdOf(await service.run(SLOW_RUN));
  await untilToolCalled(service, slow);
  await expect.poll(() => service.queue.counts()).toEqual({ waiting: 0, leased: 1 });
  const values = await scrape(service.url);
  const requests = (method: string, route: string, status: number) =>
    values.get(`proctor_http_requests_total{method="${method}",route="${route}",status="${status}"}`);
  expect(requests('POST', '/v1/agent/run', 200)).toBe(2);
  expect(requests('POST', '/v1/agent/run', 404)).toBe(1);
  expect(requests('GET', '/v1/traces/:trace_id', 404)).toBe(1);
  expect(requests('GET', 'unknown', 404)).toBe(1);
  expect(values.get('proctor_http_request_duration_seconds_count{method="POST",route="/v1/agent/run"}')).toBe(3);
  expect(values.get('proctor_runs_finished_total{status="completed"}')).toBe(1);
  expect(values.get('proctor_runs_finished_total{status="failed"}')).toBe(0);
  expect(values.get('proctor_run_attempts_started_total')).toBe(2);
  expect(values.get('proctor_runs_active')).toBe(1);
  expect(values.get('proctor_queue_entries{state="waiting"}')).toBe(0);
  expect(values.get('proctor_queue_entries{state="leased"}')).toBe(1);
  expect(values.get('proctor_model_calls_total')).toBe(3);
  expect(values.get('proctor_model_tokens_total{kind="prompt"}')).toBe(0);
  expect(values.get('proctor_tool_calls_total{is_error="false"}')).toBe(1);
  expect(values.get('proctor_event_append_duration_seconds_count')).toBeGreaterThan(10);
  for (const name of [
    'process_resident_memory_bytes',
    'process_cpu_seconds_total',
    'process_start_time_seconds',
    'nodejs_heap_size_used_bytes',
    'nodejs_eventloop_utilization',
  ]) {
    expect(values.get(name), name).toBeGreaterThan(0);
  }
});

test('metrics.labels: hold nothing that a client made up, and no key', async () => {
  const service = await startService({ worker: false });
  await service.request('/v1/traces?metadata.secret=planted-value');
  await send(service.url, '/planted-path', { method: 'PUT', headers: { authorization: 'Bearer planted-key' } });
  await service.run({ model: 'planted-model', env_name: 'planted-env' });
  const { text } = await send(service.url, '/metrics');
  expect(text).not.toMatch(/planted/);
  expect(text).not.toContain(service.key);
  expect(text).toContain('method="other"');
});

test('metrics.registry: two services of one process count each for itself', async () => {
  const [first, second] = [await startService({ worker: false }), await startService({ worker: false })];
  await first.request('/v1/traces');
  expect([...(await scrape(second.url)).keys()].filter((name) => name.includes('/v1/traces'))).toEqual([]);
});

test('metrics.access: no key on a loopback bind, a key elsewhere', async () => {
  const parts = await openParts();
  const { key } = await parts.accounts.createKey({ name: 'team' });
  const service = await startRunService({
    ...parts,
    environments: new Map(),
    models: createModels({}),
    host: '0.0.0.0',
    port: 0,
    appUrl: APP_URL,
    logger: pino({ level: 'silent' }),
    worker: false,
  });
  onTestFinished(() => service.close());
  const url = `http://127.0.0.1:${service.port}`;
  expect(await send(url, '/metrics')).toMatchObject({ status: 401, json: { error: { code: 'invalid_api_key' } } });
  expect((await send(url, '/metrics', { headers: { authorization: `Bearer ${key}` } })).status).toBe(200);
});

test('metrics.scenarios: the scenario server has its own', async () => {
  const { database, store } = await openParts();
  const server = await startScenarioServer({
    database,
    store,
    environments: new Map([['counter', COUNTER]]),
    models: createModels({}),
    model: 'proctor/oracle',
    host: '127.0.0.1',
    port: 0,
    logger: pino({ level: 'silent' }),
  });
  onTestFinished(() => server.close());
  await send(server.url, '/v1/sessions');
  const values = await scrape(server.url);
  expect(values.get('proctor_http_requests_total{method="GET",route="/v1/sessions",status="200"}')).toBe(1);
});

test('metrics.queue: a queue that does not answer does not take the other figures with it', async () => {
  const parts = await openParts();
  const queue = { ...parts.queue, counts: () => Promise.reject(new Error('The queue is gone')) };
  const service = await startService({ worker: false, parts: { ...parts, queue } });
  const values = await scrape(service.url);
  expect(values.get('proctor_queue_entries{state="waiting"}')).toBeNaN();
  expect(values.get('process_resident_memory_bytes')).toBeGreaterThan(0);
});
