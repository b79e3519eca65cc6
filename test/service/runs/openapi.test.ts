import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { startScenarioServer } from '../../../src/service/chat/start.ts';
import { guardedBy } from '../../../src/store/accounts/guard.ts';
import { send } from '../../support/http/http-server.ts';
import { COUNTER, startService, traceIdOf } from './service.ts';

interface Parameter {
  readonly name: string;
  readonly in: string;
}

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: object;
  readonly security?: readonly object[];
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, unknown>>; readonly headers?: object }>
  >;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** The document of a run service, read from the service. */
async function readDocument(): Promise<Document> {
  const service = await startService({ worker: false });
  return (await service.request('/openapi.json')).json as Document;
}

async function faultsOf(document: object): Promise<unknown> {
  const { valid, errors } = await new Validator().validate(structuredClone(document) as Record<string, unknown>);
  return valid ? undefined : errors;
}

/** Names of the schemas that refer to themselves, and every object that says nothing of what it holds. */
function toTypeFaults(document: object): readonly string[] {
  const { components } = document as { components: { schemas: Readonly<Record<string, unknown>> } };
  const circles = Object.entries(components.schemas)
    .filter(([name, schema]) => JSON.stringify(schema).includes(`"#/components/schemas/${name}"`))
    .map(([name]) => `${name} refers to itself`);
  return [...circles, ...toClosedObjects(document, '')];
}

function toClosedObjects(value: unknown, path: string): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const isSilent =
    'type' in value && value.type === 'object' && !('properties' in value || 'additionalProperties' in value);
  const below = Object.entries(value).flatMap(([key, item]) => toClosedObjects(item, `${path}/${key}`));
  return [...(isSilent ? [`${path} holds nothing`] : []), ...below];
}

describe('/openapi.json', () => {
  it('openapi.valid: is an OpenAPI 3.1 document by the published schema', async () => {
    const document = await readDocument();
    expect(await faultsOf(document)).toBeUndefined();
  });

  it('openapi.routes: has every route of the service', async () => {
    const document = await readDocument();
    const routes = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(routes.sort()).toEqual([
      'DELETE /mcp',
      'DELETE /v1/checks/{check_id}',
      'DELETE /v1/evaluations/{evaluation_id}',
      'DELETE /v1/models/registered/{name}',
      'DELETE /v1/traces/{trace_id}',
      'GET /healthz',
      'GET /mcp',
      'GET /metrics',
      'GET /openapi.json',
      'GET /readyz',
      'GET /v1/agent/seats/{trace_id}',
      'GET /v1/blobs/{sha256}',
      'GET /v1/checks',
      'GET /v1/checks/{check_id}',
      'GET /v1/environments',
      'GET /v1/environments/{name}/scenarios',
      'GET /v1/environments/{name}/tools',
      'GET /v1/evaluations',
      'GET /v1/evaluations/compare',
      'GET /v1/evaluations/{evaluation_id}',
      'GET /v1/evaluations/{evaluation_id}/attempts',
      'GET /v1/evaluations/{evaluation_id}/regrades',
      'GET /v1/evaluations/{evaluation_id}/tasks',
      'GET /v1/models',
      'GET /v1/models/registered',
      'GET /v1/models/registered/{name}',
      'GET /v1/regrades/{job_id}',
      'GET /v1/tasksets',
      'GET /v1/traces',
      'GET /v1/traces/summary',
      'GET /v1/traces/{trace_id}',
      'GET /v1/traces/{trace_id}/events',
      'GET /v1/training/jobs',
      'GET /v1/training/jobs/{job_id}',
      'GET /v1/training/jobs/{job_id}/events',
      'GET /v1/training/providers',
      'GET /v1/usage',
      'PATCH /v1/evaluations/{evaluation_id}',
      'PATCH /v1/models/registered/{name}',
      'POST /mcp',
      'POST /v1/agent/run',
      'POST /v1/agent/seats',
      'POST /v1/agent/seats/{trace_id}/answer',
      'POST /v1/calibrations',
      'POST /v1/chat/completions',
      'POST /v1/checks',
      'POST /v1/datasets',
      'POST /v1/evaluations',
      'POST /v1/evaluations/{evaluation_id}/cancel',
      'POST /v1/evaluations/{evaluation_id}/pause',
      'POST /v1/evaluations/{evaluation_id}/regrade',
      'POST /v1/evaluations/{evaluation_id}/rerun',
      'POST /v1/evaluations/{evaluation_id}/resume',
      'POST /v1/imports',
      'POST /v1/messages',
      'POST /v1/messages/count_tokens',
      'POST /v1/models/registered',
      'POST /v1/regrades/{job_id}/cancel',
      'POST /v1/responses',
      'POST /v1/traces/{trace_id}/cancel',
      'POST /v1/traces/{trace_id}/regrade',
      'POST /v1/traces/{trace_id}/replay',
      'POST /v1/training/jobs',
      'POST /v1/training/jobs/{job_id}/cancel',
      'POST /v1beta/models/{model}:generateContent',
      'POST /v1beta/models/{model}:streamGenerateContent',
    ]);
  });

  it('openapi.operations: says of each its parameters, its replies, their headers, and the errors that it has', async () => {
    const document = await readDocument();
    const names = ({ parameters }: Operation) => parameters.map((each) => `${each.in} ${each.name}`);
    const run = document.paths['/v1/agent/run']?.post as Operation;
    expect(names(run)).toEqual(['header Prefer', 'header Idempotency-Key']);
    expect(Object.keys(run.responses)).toEqual([
      '200',
      '400',
      '401',
      '403',
      '404',
      '409',
      '413',
      '415',
      '429',
      '502',
      '503',
      'default',
    ]);
    expect(run.responses[429]).toMatchObject({
      description: '`rate_limit_exceeded`, `quota_exceeded`',
      headers: { 'Retry-After': {}, 'X-Request-Id': {} },
    });
    const list = document.paths['/v1/traces']?.get as Operation;
    expect(names(list)).toEqual(
      [
        ...[
          'env_name',
          'scenario_name',
          'model',
          'status',
          'origin',
          'evaluation_id',
          'task_id',
          'attempt_index',
          'outcome',
          'parent',
          'grades',
          'min_reward',
          'max_reward',
          'since',
          'until',
        ],
        ...['sort', 'limit', 'cursor', 'metadata'],
      ].map((name) => `query ${name}`),
    );
    expect(list.security).toEqual([{ key: [] }, { browser: [] }]);
    const events = document.paths['/v1/traces/{trace_id}/events']?.get as Operation;
    expect(names(events)).toEqual(['path trace_id', 'query follow', 'header Last-Event-ID']);
    expect(Object.keys(events.responses[200]?.content ?? {})).toEqual(['text/event-stream']);
    const remove = document.paths['/v1/traces/{trace_id}']?.delete as Operation;
    expect(remove.responses[204]).not.toHaveProperty('content');
    expect(remove.responses[409]).toMatchObject({ description: '`run_running`', headers: { 'X-Should-Retry': {} } });
  });

  it('openapi.types: types can be generated from it: no schema is a circle, and an object of JSON holds anything', async () => {
    const document = await readDocument();
    expect(toTypeFaults(document)).toEqual([]);
    const request = document.paths['/v1/agent/run']?.post?.requestBody;
    expect(request).toHaveProperty(
      ['content', 'application/json', 'schema', 'properties', 'scenario_args', 'additionalProperties'],
      true,
    );
  });

  it('openapi.true: the replies of the service are as it says', async () => {
    const service = await startService();
    const document = (await service.request('/openapi.json')).json as Document;
    const traceId = traceIdOf(await service.run({}, { prefer: 'wait=60' }));
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    ajv.addSchema(document, 'document');
    const pointer = (path: string, rest: string) =>
      `document#/paths/${encodeURIComponent(path.replaceAll('/', '~1'))}/${rest}/content/application~1json/schema`;
    for (const [path, address, query] of [
      ['/v1/traces', '/v1/traces'],
      ['/v1/traces/summary', '/v1/traces/summary'],
      ['/v1/traces/{trace_id}', `/v1/traces/${traceId}`],
      ['/v1/environments', '/v1/environments'],
      ['/v1/environments/{name}/scenarios', '/v1/environments/counter/scenarios'],
      ['/v1/environments/{name}/tools', '/v1/environments/counter/tools'],
      ['/v1/models', '/v1/models'],
      ['/v1/usage', '/v1/usage', '?group_by=key'],
      ['/readyz', '/readyz'],
    ] as const) {
      const reply = await service.request(`${address}${query ?? ''}`);
      expect(reply.status, path).toBe(200);
      const isValid = ajv.validate(pointer(path, 'get/responses/200'), reply.json);
      expect(isValid ? [] : ajv.errors, path).toEqual([]);
    }
    const refused = await service.run({ max_steps: 0 });
    expect(ajv.validate(pointer('/v1/agent/run', 'post/responses/400'), refused.json)).toBe(true);
  });

  it('openapi.scenarios: the scenario server describes itself as truly', async () => {
    const { database, store, accounts } = await startService({ worker: false });
    const server = await startScenarioServer({
      database,
      store,
      environments: new Map([['counter', COUNTER]]),
      models: createModels({}),
      model: 'proctor/oracle',
      host: '127.0.0.1',
      port: 0,
      logger: pino({ level: 'silent' }),
      ...guardedBy(accounts),
    });
    onTestFinished(() => server.close());
    const { json } = await send(server.url, '/openapi.json');
    expect(await faultsOf(json as object)).toBeUndefined();
    expect(toTypeFaults(json as object)).toEqual([]);
  });
});
