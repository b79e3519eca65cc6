import { readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createServiceClient } from '../../../src/client/service-client.ts';
import { MAX_IMPORT_BYTES } from '../../../src/contract/service/import.ts';
import { jsonlFormat } from '../../../src/store/formats/jsonl.ts';
import { randomTrace } from '../../store/formats/random-trace.ts';
import { writeContext } from '../../store/formats/round-trip.ts';
import { until } from '../../until.ts';
import { startService, temporaryDirectory } from './service.ts';

const TRACES = [1, 2, 3].map((seed) => `${JSON.stringify(jsonlFormat.toLine(randomTrace(seed), writeContext()))}\n`);

const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('proctor-import-'));

describe('the import of a file at a service', () => {
  it('stores its traces for the account of the key, and adds nothing the second time', async () => {
    const before = new Set(folders());
    const service = await startService();
    const client = createServiceClient({ baseUrl: service.url, apiKey: service.key });
    const first = await client.traces.import(TRACES.join(''), { env_name: 'desk' });
    expect(first).toMatchObject({ added: 3, trace_ids: { length: 3 } });
    const again = await client.traces.import(TRACES.join(''), { env_name: 'desk' });
    expect(again).toEqual({ ...first, added: 0 });
    const { data } = await client.traces.list({ origin: 'import' });
    expect(data.map(({ trace_id }) => trace_id).sort()).toEqual([...first.trace_ids].sort());
    expect(data.map(({ env_name }) => env_name)).toEqual(['desk', 'desk', 'desk']);
    const other = await service.accounts.createKey({ name: 'other', account: 'other' });
    const stranger = createServiceClient({ baseUrl: service.url, apiKey: other.key });
    expect((await stranger.traces.list({ origin: 'import' })).data).toEqual([]);
    await until(() => folders().every((name) => before.has(name)));
  });

  it('refuses a file with one wrong trace whole, says why, and takes the next one', async () => {
    const service = await startService();
    const client = createServiceClient({ baseUrl: service.url, apiKey: service.key });
    const wrong = client.traces.import(`${TRACES.join('')}{"is": "no trace"}\n`);
    await expect(wrong).rejects.toMatchObject({
      code: 'invalid_parameter',
      param: 'file',
      message: expect.stringContaining('Line 4'),
    });
    expect((await client.traces.list({ origin: 'import' })).data).toEqual([]);
    await expect(client.traces.import('')).rejects.toMatchObject({ code: 'invalid_parameter', param: 'file' });
    expect((await client.traces.import(TRACES[0] ?? '')).added).toBe(1);
  });

  it('refuses more bytes than the limit while they come, and keeps none of them', async () => {
    const service = await startService();
    const client = createServiceClient({ baseUrl: service.url, apiKey: service.key });
    const piece = Buffer.alloc(1_024 * 1_024, ' ');
    let left = MAX_IMPORT_BYTES / piece.length + 1;
    const file = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left-- > 0) controller.enqueue(piece);
        else controller.close();
      },
    });
    await expect(client.traces.import(file)).rejects.toMatchObject({ code: 'request_too_large', status: 413 });
    await expect(client.traces.import(TRACES[0] ?? '')).resolves.toMatchObject({ added: 1 });
  });

  it('takes one file of an account at a time, and its place is free when its client goes away', async () => {
    const service = await startService();
    const client = createServiceClient({ baseUrl: service.url, apiKey: service.key });
    const gone = new AbortController();
    const endless = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(Buffer.from('{')) });
    const first = client.traces.import(endless, {}, { signal: gone.signal });
    first.catch(() => {});
    const importSecond = () => client.traces.import(TRACES[0] ?? '').catch(({ code }) => code);
    await until(async () => (await importSecond()) === 'quota_exceeded');
    gone.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    await until(async () => typeof (await importSecond()) === 'object');
  });

  it('reads no file of the machine that a trace names', async () => {
    const service = await startService();
    const client = createServiceClient({ baseUrl: service.url, apiKey: service.key });
    const path = join(temporaryDirectory(), 'secret.png');
    writeFileSync(path, 'secret');
    const image = { type: 'image', source: { media_type: 'image/png', path } };
    const trajectory = {
      schema_version: 'ATIF-v1.6',
      session_id: 's',
      agent: { name: 'a', version: '1' },
      steps: [{ step_id: 1, source: 'user', message: [{ type: 'text', text: 'Look.' }, image] }],
    };
    const { added, lost } = await client.traces.import(JSON.stringify(trajectory));
    expect(added).toBe(1);
    expect(lost.map(({ why }) => why).join()).toMatch(/image|read|address/);
  });
});
