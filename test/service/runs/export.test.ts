import { describe, expect, it } from 'vitest';
import { IMPORT_LIMITS } from '../../../src/store/formats/import-limits.ts';
import { parseJson } from '../../../src/store/formats/parse-json.ts';
import { newTrace, newTraceId } from '../../store/traces/events.ts';
import { startService, traceIdOf } from './service.ts';

describe('GET /v1/traces/{trace_id}?format=', () => {
  it.each([
    ['atif', 'application/json', '"schema_version":"ATIF-v1.8"'],
    ['inspect', 'application/json', '"samples":['],
    ['jsonl', 'application/x-ndjson', '"object":"trace"'],
    ['openai', 'application/x-ndjson', '"messages":['],
    ['trl', 'application/x-ndjson', '"messages":['],
  ])('export.form: %s is a file of its type, with what it lost', async (format, type, part) => {
    const service = await startService();
    const id = traceIdOf(await service.run({ model: 'proctor/oracle' }, { prefer: 'wait=60' }));
    const reply = await service.request(`/v1/traces/${id}?format=${format}`);
    expect(reply.status).toBe(200);
    expect(reply.headers['content-type']).toBe(`${type}; charset=utf-8`);
    expect(reply.headers['content-disposition']).toMatch(new RegExp(`^attachment; filename="${id}\\.[a-z.]+"$`));
    expect(JSON.stringify(reply.json)).toContain(part);
    expect(parseJson(JSON.stringify(reply.json), IMPORT_LIMITS)).toEqual(reply.json);
    const lost = reply.headers['x-proctor-lost'];
    if (format === 'openai') expect(lost).toMatch(/(^|, )reward=1(,|$)/);
  });

  it.each(['openai-dpo', 'verifiers', 'csv', ''])('export.unknown: "%s" is 400 with its name', async (format) => {
    const service = await startService();
    const id = traceIdOf(await service.run({ model: 'proctor/oracle' }, { prefer: 'wait=60' }));
    expect(await service.request(`/v1/traces/${id}?format=${format}`)).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_parameter', param: 'format' } },
    });
  });

  it('export.running: a trace that has not ended is 409', async () => {
    const service = await startService({ worker: false });
    const traceId = newTraceId();
    await service.store.create(newTrace({}, { traceId }));
    expect(await service.request(`/v1/traces/${traceId}?format=atif`)).toMatchObject({
      status: 409,
      json: { error: { code: 'run_running' } },
    });
  });
});
