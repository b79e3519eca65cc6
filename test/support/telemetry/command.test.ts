import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createProject, PATIENCE, proctor, start } from '../../cli/command.ts';
import { freePort } from '../../free-port.ts';
import { startCollector } from './collector.ts';

const RUN = ['run', 'counter', 'count_to', '--arg', 'target=2', '--json'] as const;

test(
  'a command exports its spans where the standard variables name a collector, and obeys the others',
  PATIENCE,
  async () => {
    const collector = await startCollector();
    const ended = await proctor(RUN, {
      cwd: createProject('counter'),
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-collector=abc',
        OTEL_SERVICE_NAME: 'my-proctor',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,team=blue',
      },
    });
    expect([ended.code, ended.stderr.includes('Spans')]).toEqual([0, false]);
    const traceId = /"trace_id":\s*"([0-9a-f]{32})"/.exec(ended.stdout)?.[1] ?? '';
    expect(collector.tree(traceId)[0]).toBe('invoke_agent counter:count_to');
    const root = collector.span('invoke_agent counter:count_to');
    expect(root.resource).toMatchObject({
      'service.name': 'my-proctor',
      'service.version': expect.any(String),
      'deployment.environment.name': 'test',
      team: 'blue',
    });
    expect(root.attributes).toMatchObject({ 'gen_ai.provider.name': 'proctor', 'proctor.reward': 1 });
    expect(collector.spans.filter(({ name }) => name.startsWith('execute_tool'))[0]?.attributes).toMatchObject({
      'network.transport': 'pipe',
    });
    expect(collector.headers[0]).toMatchObject({ 'x-collector': 'abc' });
  },
);

test.each([
  ['Langfuse', '/api/public/otel', 'Authorization=Basic cGs6c2s=,x-langfuse-ingestion-version=4'],
  ['LangSmith', '/otel', 'x-api-key=lsv2'],
  ['Phoenix', '', 'Authorization=Bearer phoenix'],
])('the settings for %s lead to its path, with its headers', PATIENCE, async (_backend, base, headers) => {
  const collector = await startCollector({ base });
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_HEADERS: headers };
  const ended = await proctor(RUN, { cwd: createProject('counter'), env });
  expect([ended.code, ended.stderr.includes('Spans')]).toEqual([0, false]);
  expect(new Set(collector.paths)).toEqual(new Set([`${base}/v1/traces`]));
  expect(collector.span('invoke_agent counter:count_to').attributes).toMatchObject({ 'proctor.reward': 1 });
  const given = headers.split(',').map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]);
  const sent = Object.fromEntries(given.map(([name = '', value]) => [name.toLowerCase(), value]));
  expect(collector.headers[0]).toMatchObject(sent);
});

test('a server exports what it has when it is stopped', PATIENCE, async () => {
  const collector = await startCollector();
  const ports = ['--port', String(await freePort())];
  const server = start(['scenarios', ...ports, '--json'], {
    cwd: createProject('counter'),
    env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`, OTEL_BSP_SCHEDULE_DELAY: '600000' },
  });
  const [line] = await server.prints(/^\{.*\}$/m);
  const { url } = JSON.parse(line) as { readonly url: string };
  const messages = [{ role: 'user', content: 'Go.' }];
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages, scenario: 'count_to', scenario_args: { target: 1 } }),
  });
  expect(reply.status).toBe(200);
  server.process.kill('SIGTERM');
  expect((await server.ended).code).toBe(0);
  expect(collector.tree(reply.headers.get('x-svc-trace-id') ?? '')[0]).toBe('invoke_agent counter:count_to');
});

test('nothing is loaded or exported where the SDK is disabled', PATIENCE, async () => {
  const collector = await startCollector();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_SDK_DISABLED: 'true' };
  expect((await proctor(RUN, { cwd: createProject('counter'), env })).code).toBe(0);
  expect(collector.spans).toEqual([]);
});

test('where the packages are missing, the command says how to install them and goes on', PATIENCE, async () => {
  const fixture = new URL('./fixtures/without-sdk.mjs', import.meta.url).href;
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', NODE_OPTIONS: `--import ${fixture}` };
  const { code, stderr } = await proctor(RUN, { cwd: createProject('counter'), env });
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining('npm install @opentelemetry/exporter-trace-otlp-http@0.223 @opentelemetry/resources@2.12'),
  ]);
});

test('a collector that takes nothing is told of, and keeps no command from its end', PATIENCE, async () => {
  const silent = createServer(() => {});
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const endpoint = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_TIMEOUT: '600000' };
  const { code, stderr } = await proctor(RUN, { cwd: createProject('counter'), env });
  expect([code, stderr]).toEqual([0, expect.stringContaining('The last spans were not exported')]);
});
