import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ApiError, createServiceClient, type Fetch } from '../../src/client/service-client.ts';
import type { ModelDeltaEvent, TraceEvent } from '../../src/contract/service/event.ts';
import { listen } from '../../src/support/http/listen.ts';
import { openParts, SLOW_RUN, startService, untilToolCalled } from '../service/runs/service.ts';
import { finished, log, newTrace, started } from '../store/traces/events.ts';

// Processes start slowly on a machine that is busy.
vi.setConfig({ testTimeout: 60_000 });

const RUN = {
  env_name: 'counter',
  scenario_name: 'count_to',
  scenario_args: { target: 3 },
  model: 'proctor/oracle',
} as const;
const SLOW = { ...RUN, ...SLOW_RUN };

async function open(options: Parameters<typeof startService>[0] = {}) {
  const service = await startService(options);
  return { service, client: createServiceClient({ baseUrl: service.url, apiKey: service.key }) };
}

async function rejection(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

/** A fetch that fails as told before it gets through; undefined lets a request pass. */
function failing(...failures: ((() => Promise<Response>) | undefined)[]): { fetch: Fetch; requests: Request[] } {
  const requests: Request[] = [];
  return {
    requests,
    fetch: async (url, init) => {
      requests.push(new Request(url, init));
      const failure = failures.shift();
      return failure === undefined ? await fetch(url, init) : await failure();
    },
  };
}

const connectionLost = async (): Promise<Response> => {
  throw new TypeError('fetch failed');
};
const unavailable = async () =>
  Response.json(
    { error: { message: 'Wait.', type: 'server_error', param: null, code: 'shutting_down' } },
    { status: 503 },
  );

describe('the client of a run service', () => {
  it('starts runs, waits for their end, and reads, lists, sums up, cancels and deletes traces', async () => {
    const { service, client } = await open();
    const { trace_id: traceId, status } = await client.runs.create({ ...RUN, metadata: { team: 'a' } });
    expect(status).toBe('queued');
    expect(await client.runs.wait(traceId)).toMatchObject({ trace_id: traceId, status: 'completed', reward: 1 });
    expect(await client.runs.create(RUN, { waitSeconds: 60 })).toMatchObject({ status: 'completed', reward: 1 });
    expect(await client.traces.get(traceId)).toMatchObject({ steps: [{ step: 1 }, { step: 2 }] });
    const list = await client.traces.list({ metadata: { team: 'a' }, min_reward: 1, sort: 'reward' });
    expect(list.data.map((trace) => trace.trace_id)).toEqual([traceId]);
    const all = [];
    for await (const trace of client.traces.all({ limit: 1 })) all.push(trace.trace_id);
    expect(all).toHaveLength(2);
    expect(await client.traces.summary({ status: 'completed' })).toMatchObject({ count: 2, pass_rate: 1 });
    expect(await client.usage({ group_by: 'env' })).toMatchObject({ data: [{ group: 'counter', runs: 2 }] });
    await client.traces.delete(traceId);
    expect((await rejection(client.traces.get(traceId))).code).toBe('trace_not_found');
    const slow = await client.runs.create(SLOW);
    await untilToolCalled(service, slow.trace_id);
    await client.traces.cancel(slow.trace_id);
    expect(await client.runs.wait(slow.trace_id)).toMatchObject({ status: 'cancelled' });
  });

  it('lists environments, their scenarios, tools and models, and reads blobs', async () => {
    const { service, client } = await open({ worker: false });
    expect((await client.environments.list()).data.map(({ name }) => name)).toEqual(['counter']);
    const { scenarios } = await client.environments.scenarios('counter');
    expect(scenarios.map((scenario) => scenario.short_name)).toContain('count_to');
    const { tools } = await client.environments.tools('counter');
    expect(tools.map(({ name }) => name)).toEqual(['increment', 'read', 'slow_increment']);
    expect((await client.models.list()).data.map(({ id }) => id)).toContain('proctor/oracle');
    const { trace_id: traceId } = await client.runs.create(RUN);
    const reference = await service.store.putBlob(traceId, new Uint8Array([1, 2, 3]), 'image/png');
    expect(await client.blobs.get(reference)).toEqual({ bytes: new Uint8Array([1, 2, 3]), mimeType: 'image/png' });
  });

  it('rejects with what the service says: status, code, field, and the id of the request', async () => {
    const { client, service } = await open({ worker: false });
    const refused = await rejection(client.runs.create({ ...RUN, env_name: 'nope' }));
    expect(refused).toMatchObject({
      message: 'No environment is named "nope". Environments: counter.',
      status: 404,
      code: 'env_not_found',
      type: 'not_found_error',
      param: 'env_name',
      requestId: expect.stringMatching(/^req_/),
      retryAfterSeconds: null,
    });
    const stranger = createServiceClient({ baseUrl: service.url, apiKey: 'pk_nobody' });
    expect((await rejection(stranger.traces.list())).code).toBe('invalid_api_key');
    const { key } = await service.accounts.createKey({ name: 'slow', requestsPerMinute: 1 });
    const limited = createServiceClient({ baseUrl: service.url, apiKey: key });
    await limited.traces.list();
    const error = await rejection(limited.traces.list()); // A minute is not waited for.
    expect([error.code, error.retryAfterSeconds]).toEqual(['rate_limit_exceeded', 60]);
  });

  it('says where nobody answers, and where somebody else does', async () => {
    const nobody = createServiceClient({ baseUrl: 'http://127.0.0.1:1', maxRetries: 0 });
    expect(await rejection(nobody.models.list())).toMatchObject({ status: 0, code: 'connection_failed' });
    const page = await listen((_request, response) => response.writeHead(404).end('<h1>Not here</h1>'), {
      host: '127.0.0.1',
      port: 0,
    });
    onTestFinished(() => page.close());
    const other = createServiceClient({ baseUrl: `${page.url}/` });
    expect(await rejection(other.models.list())).toMatchObject({ status: 404, code: 'unexpected_reply' });
    expect(() => createServiceClient({ baseUrl: 'localhost' })).toThrow(TypeError);
  });

  it('asks the server of its page in a browser, where it is told no address', async () => {
    expect(() => createServiceClient()).toThrow(/baseUrl/);
    vi.stubGlobal('location', { origin: 'http://pages.example' });
    const asked: string[] = [];
    const send: Fetch = async (url) => {
      asked.push(url);
      return Response.json({ data: [] });
    };
    await createServiceClient({ fetch: send }).models.list();
    expect(asked).toEqual(['http://pages.example/v1/models']);
  });
});

it('the end of a run is waited for over a service that is restarted', async () => {
  const parts = await openParts();
  const first = await startService({ worker: false, parts });
  const client = createServiceClient({ baseUrl: first.url, apiKey: first.key });
  const { trace_id: traceId } = await client.runs.create(RUN);
  const waiting = client.runs.wait(traceId);
  await first.request('/v1/traces'); // The one who waits was heard before.
  await first.close();
  await startService({ parts, port: first.port });
  expect(await waiting).toMatchObject({ status: 'completed', reward: 1 });
});

describe('what is tried again', () => {
  it('is a run whose first try is still being answered, unlike other conflicts', async () => {
    const { service } = await open({ worker: false });
    const conflict = (code: string) => async () =>
      Response.json({ error: { message: 'No.', type: 'conflict_error', param: null, code } }, { status: 409 });
    const inProgress = failing(conflict('request_in_progress'), undefined);
    const client = createServiceClient({ baseUrl: service.url, apiKey: service.key, fetch: inProgress.fetch });
    await client.runs.create(RUN);
    expect(inProgress.requests).toHaveLength(2);
    const other = failing(conflict('idempotency_conflict'));
    const refused = createServiceClient({ baseUrl: service.url, apiKey: service.key, fetch: other.fetch });
    expect(await rejection(refused.runs.create(RUN))).toMatchObject({ code: 'idempotency_conflict' });
    expect(other.requests).toHaveLength(1);
  });

  it('are reads, and runs, which carry an Idempotency-Key: a lost answer does not make two of them', async () => {
    const { service } = await open({ worker: false });
    const lostAnswer = async () => {
      // The request arrives; its answer does not.
      const [request] = requests.slice(-1);
      await fetch(request?.clone() as Request);
      throw new TypeError('terminated');
    };
    const { fetch: send, requests } = failing(lostAnswer, unavailable, undefined, connectionLost, undefined);
    const client = createServiceClient({ baseUrl: service.url, apiKey: service.key, fetch: send });
    await client.runs.create(RUN);
    expect(await service.countRuns()).toBe(1);
    expect(new Set(requests.map((request) => request.headers.get('idempotency-key'))).size).toBe(1);
    expect((await client.traces.list()).data).toHaveLength(1);
    expect(requests).toHaveLength(5);
    await client.runs.create(RUN);
    expect(await service.countRuns()).toBe(2);
  });

  it('are no changes, no refusals, and nothing beyond the retries', async () => {
    const { service } = await open({ worker: false });
    const client = (...failures: Parameters<typeof failing>) => {
      const { fetch: send, requests } = failing(...failures);
      return { requests, ...createServiceClient({ baseUrl: service.url, apiKey: service.key, fetch: send }) };
    };
    const changing = client(connectionLost);
    expect((await rejection(changing.traces.cancel('0'.repeat(32)))).code).toBe('connection_failed');
    expect(changing.requests).toHaveLength(1);
    const refused = client();
    await rejection(refused.traces.get('0'.repeat(32)));
    expect(refused.requests).toHaveLength(1);
    const lost = client(unavailable, unavailable, unavailable, unavailable);
    expect((await rejection(lost.traces.list())).code).toBe('shutting_down');
    expect(lost.requests).toHaveLength(3);
  });

  it('ends with the signal, whose reason is thrown', async () => {
    const { service } = await open({ worker: false });
    const reason = new Error('Enough');
    const stop = new AbortController();
    const client = createServiceClient({ baseUrl: service.url, apiKey: service.key });
    const { trace_id: traceId } = await client.runs.create(RUN);
    const waiting = client.runs.wait(traceId, { signal: stop.signal });
    const rejection = expect(waiting).rejects.toBe(reason);
    const reading = client.traces.events(traceId, { signal: stop.signal });
    expect((await reading.next()).value).toMatchObject({ type: 'run.queued' });
    const next = reading.next();
    const nextRejection = expect(next).rejects.toBe(reason);
    stop.abort(reason);
    await rejection;
    await nextRejection;
    await expect(client.traces.list({}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe('the events of a trace', () => {
  async function collect(events: AsyncIterable<TraceEvent | ModelDeltaEvent>): Promise<TraceEvent[]> {
    const found: TraceEvent[] = [];
    for await (const event of events) if (event.type !== 'model.delta') found.push(event);
    return found;
  }

  it('come to the end of the run, from the one that is asked for', async () => {
    const { service, client } = await open();
    const { trace_id: traceId } = await client.runs.create(RUN);
    const events = await collect(client.traces.events(traceId));
    expect(events).toEqual(JSON.parse(JSON.stringify(await service.store.events(traceId))));
    expect(await collect(client.traces.events(traceId, { after: events.length - 1 }))).toEqual(events.slice(-1));
    expect(await collect(client.traces.events(traceId, { after: events.length }))).toEqual([]);
  });

  it('go on over a service that is restarted, without a gap and without repetition', async () => {
    const parts = await openParts();
    const first = await startService({ worker: false, parts });
    const trace = newTrace();
    await first.store.create(trace);
    await first.store.append(trace.traceId, 1, [started, log('before')]);
    const client = createServiceClient({ baseUrl: first.url, apiKey: first.key });
    const reading = client.traces.events(trace.traceId);
    const seqs: unknown[] = [];
    for (let count = 0; count < 3; count++) seqs.push(((await reading.next()).value as TraceEvent).seq);
    await first.close();
    await first.store.append(trace.traceId, 1, [log('between')]);
    await startService({ worker: false, parts, port: first.port });
    await first.store.append(trace.traceId, 1, [finished()]);
    seqs.push(...(await collect(reading)).map(({ seq }) => seq));
    expect(seqs).toEqual([1, 2, 3, 4, 5]);
  });

  it('end with the reason of a service that is gone for good, as every request does, and none is tried again', async () => {
    const service = await startService({ worker: false });
    const trace = newTrace();
    await service.store.create(trace);
    const closed = new AbortController();
    const { fetch: counting, requests } = failing();
    const { signal } = closed;
    const client = createServiceClient({ baseUrl: service.url, apiKey: service.key, fetch: counting, closed: signal });
    const reading = client.traces.events(trace.traceId);
    await reading.next();
    const next = reading.next();
    closed.abort(new Error('The service is shutting down'));
    await expect(next).rejects.toThrow('The service is shutting down');
    await expect(client.traces.get(trace.traceId)).rejects.toThrow('The service is shutting down');
    expect(requests).toHaveLength(1);
  });

  it('close their connection when nobody reads on', async () => {
    let closed = () => {};
    const isClosed = new Promise<void>((settle) => {
      closed = settle;
    });
    const server = createServer((request, response) => {
      request.once('close', closed);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('id: 1\nevent: log\ndata: {"seq":1,"type":"log","attempt":1}\n\n');
    });
    await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const client = createServiceClient({ baseUrl: `http://127.0.0.1:${port}` });
    for await (const event of client.traces.events('any')) {
      expect(event).toMatchObject({ seq: 1 });
      break;
    }
    await isClosed;
  });

  it('of a trace that is not there are refused at once', async () => {
    const { client } = await open({ worker: false });
    expect((await rejection(client.traces.events('0'.repeat(32)).next())).code).toBe('trace_not_found');
  });
});

it('needs nothing of Node.js: a browser can load it as it is', () => {
  const seen = new Set<string>();
  const visit = (file: string) => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, specifier = ''] of readFileSync(file, 'utf8').matchAll(
      /^(?:import|export) (?!type )[^;]*?from '([^']+)'/gms,
    )) {
      if (specifier === 'eventsource-parser') continue; // It has no imports, and is made for browsers too.
      expect(specifier).toMatch(/^\./);
      visit(resolve(dirname(file), specifier));
    }
  };
  visit(fileURLToPath(new URL('../../src/client/service-client.ts', import.meta.url)));
  expect(seen.size).toBe(14);
});
