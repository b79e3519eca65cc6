import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { says, startGateway } from '../../gateway.ts';
import { counting, serve, svcOf } from '../../service/chat/server.ts';
import { startService, traceIdOf } from '../../service/runs/service.ts';

interface Line {
  readonly msg: string;
  readonly requestId?: string;
  readonly traceId?: string;
  readonly attempt?: number;
  readonly [name: string]: unknown;
}

function logInto(lines: Line[]) {
  return pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
}

test('every line of a run has its trace and attempt, and the line of its request has the request and the trace', async () => {
  const lines: Line[] = [];
  const service = await startService({ logger: logInto(lines) });
  const accepted = await service.run();
  const traceId = traceIdOf(accepted);
  await service.ended(traceId);
  await service.close();

  const request = lines.find(({ msg, path }) => msg === 'request' && path === '/v1/agent/run');
  expect(request).toMatchObject({ requestId: accepted.headers['x-request-id'], traceId, method: 'POST', status: 200 });
  expect(accepted.headers['x-svc-trace-id']).toBe(traceId);
  const ofRun = lines.filter(({ msg }) => msg.startsWith('run '));
  expect(ofRun).toMatchObject([
    { msg: 'run started', traceId, attempt: 1, environment: 'counter', scenario: 'count_to', model: 'proctor/oracle' },
    { msg: 'run ended', traceId, attempt: 1, status: 'completed', stopReason: 'answered', reward: 1 },
  ]);
  for (const line of lines.filter(({ msg }) => msg === 'request')) {
    expect(line.requestId).toMatch(/^req_[0-9a-f]{32}$/);
  }
  const waited = lines.find(({ path }) => path === `/v1/traces/${traceId}`);
  expect(waited).toMatchObject({ traceId, requestId: expect.any(String) });
  expect(JSON.stringify(lines)).not.toContain(service.key);
});

test('the line of a run that fails says by which boundary', async () => {
  const lines: Line[] = [];
  const gateway = await startGateway((response) => response.writeHead(400).end('{}'));
  const service = await startService({ models: createModels({ gatewayUrl: gateway.url }), logger: logInto(lines) });
  const traceId = traceIdOf(await service.run({ model: 'gpt-test' }));
  await service.ended(traceId);
  await service.close();
  expect(lines.find(({ msg }) => msg === 'run ended')).toMatchObject({
    traceId,
    attempt: 1,
    status: 'failed',
    boundary: 'model',
    code: 'model_failed',
  });
});

test('the line of a chat turn has the request and the trace of the session', async () => {
  const lines: Line[] = [];
  const server = await serve({ plays: [says('Done.')], logger: logInto(lines) });
  const reply = await server.chat('Go.', counting(1));
  const { trace_id } = svcOf(reply);
  await server.close();
  expect(lines.find(({ path }) => path === '/v1/chat/completions')).toMatchObject({
    requestId: reply.headers['x-request-id'],
    traceId: trace_id,
  });
});
