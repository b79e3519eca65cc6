import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { createServiceClient } from '../../../src/client/service-client.ts';
import { scriptedModel } from '../../../src/evaluation/testing/scripted-model.ts';
import type { ModelRequest, ModelResponse } from '../../../src/models/gateway/chat-model.ts';
import { startEventFeed } from '../../../src/service/traces/event-feed.ts';
import { eventsOf } from '../../../src/service/traces/events-route.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { finished, log, newTrace, started } from '../../store/traces/events.ts';
import { deferred, send } from '../../support/http/http-server.ts';
import { openEvents } from './event-stream.ts';
import {
  APP_URL,
  answeringModels,
  GATE_HERE,
  openParts,
  SLOW_RUN,
  startService,
  type TestService,
  temporaryDirectory,
  traceIdOf,
  untilToolCalled,
} from './service.ts';

// Processes start slowly on a machine that is busy.
vi.setConfig({ testTimeout: 60_000 });

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** A trace that was played by hand: so many logs, and its end unless told otherwise. */
async function addTrace(
  { store }: Pick<TestService, 'store'>,
  { logs = 0, text = 'x', isFinished = true, account = 'local' } = {},
): Promise<string> {
  const trace = newTrace({}, { account });
  await store.create(trace);
  await store.append(trace.traceId, 1, [started, ...Array.from({ length: logs }, () => log(text))]);
  if (isFinished) await store.append(trace.traceId, 1, [finished()]);
  return trace.traceId;
}

describe('the events of a trace', () => {
  it('end with those that are stored where follow is false, although the run goes on', async () => {
    const service = await startService({ worker: false });
    const traceId = await addTrace(service, { logs: 2, isFinished: false });
    const { traces } = createServiceClient({ baseUrl: service.url, apiKey: service.key });
    const types: string[] = [];
    for await (const { type } of traces.events(traceId, { follow: false })) types.push(type);
    expect(types).toEqual(['run.queued', 'run.started', 'log', 'log']);
  });

  it('events.live: come as they happen, by their numbers without gap, and end after run.finished', async () => {
    const service = await startService({ environments: new Map([['gate', GATE_HERE]]) });
    const file = join(temporaryDirectory(), 'gate');
    const asked = { env_name: 'gate', scenario_name: 'pass', scenario_args: { file } };
    const traceId = traceIdOf(await service.run(asked));
    const stream = openEvents(service, traceId);
    const { statusCode, headers } = await stream.begun;
    expect(statusCode).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    });
    await stream.heard('tool.called');
    expect(stream.frames.map(({ event }) => event)).not.toContain('run.finished');
    writeFileSync(file, '');
    await stream.ended;
    const stored = await service.store.events(traceId);
    expect(stream.frames.filter(({ id }) => id !== undefined)).toEqual(
      stored.map((event) => ({ id: event.seq, event: event.type, data: JSON.parse(JSON.stringify(event)) })),
    );
    expect(stream.frames[0]).toMatchObject({ event: 'run.queued', data: { seq: 1, type: 'run.queued', attempt: 1 } });
    expect(stream.frames.at(-1)).toMatchObject({ event: 'run.finished', data: { status: 'completed', reward: 1 } });
    expect(Object.keys(stream.frames[0]?.data ?? {}).slice(0, 4)).toEqual(['seq', 'at', 'type', 'attempt']);
  });

  it('events.finished: of a run that has ended come at once, and the stream ends', async () => {
    const service = await startService({ worker: false });
    const stream = openEvents(service, await addTrace(service, { logs: 250 }));
    await stream.ended;
    expect(stream.frames.map(({ id }) => id)).toEqual(upTo(253));
  });

  it('events.resume: with Last-Event-ID only those that follow it come', async () => {
    const service = await startService({ worker: false });
    const traceId = await addTrace(service, { logs: 5 });
    const stream = openEvents(service, traceId, { 'last-event-id': '6' });
    await stream.ended;
    expect(stream.frames.map(({ id, event }) => [id, event])).toEqual([
      [7, 'log'],
      [8, 'run.finished'],
    ]);
  });

  it('events.resume-live: a reader that was cut off misses none and gets none twice', async () => {
    const service = await startService({ worker: false });
    const traceId = await addTrace(service, { logs: 3, isFinished: false });
    const first = openEvents(service, traceId);
    await first.heard('log');
    await expect.poll(() => first.frames.length).toBe(5);
    first.leave();
    await service.store.append(traceId, 1, [log('meanwhile')]);
    const second = openEvents(service, traceId, { 'last-event-id': String(first.frames.at(-1)?.id) });
    await second.heard('log');
    await service.store.append(traceId, 1, [finished()]);
    await second.ended;
    expect([...first.frames, ...second.frames].map(({ id }) => id)).toEqual(upTo(7));
  });

  it('events.over: who has the last event already gets 204, so that an EventSource stops', async () => {
    const service = await startService({ worker: false });
    const traceId = await addTrace(service);
    for (const id of ['3', '999']) {
      const reply = await service.request(`/v1/traces/${traceId}/events`, { headers: { 'last-event-id': id } });
      expect([reply.status, reply.text]).toEqual([204, '']);
    }
  });

  it.each(['x', '-1', '1.5', '9'.repeat(20)])('events.last-event-id: %j is 400', async (id) => {
    const service = await startService({ worker: false });
    const path = `/v1/traces/${await addTrace(service)}/events`;
    expect(await service.request(path, { headers: { 'last-event-id': id } })).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_parameter', param: 'Last-Event-ID' } },
    });
  });

  it('events.comments: a stream on which nothing happens has comments', async () => {
    const service = await startService({ worker: false, keepAliveMs: 20 });
    const stream = openEvents(service, await addTrace(service, { isFinished: false }));
    await expect.poll(() => stream.comments).toBeGreaterThan(2);
    expect(stream.frames).toHaveLength(2);
  });

  it('events.revoked: end where the key is revoked while its run goes on', async () => {
    const service = await startService({ worker: false });
    const traceId = await addTrace(service, { isFinished: false });
    const { id, key } = await service.accounts.createKey({ name: 'leaves' });
    const stream = openEvents({ url: service.url, key }, traceId);
    const other = openEvents(service, traceId);
    await Promise.all([stream.heard('run.started'), other.begun]);
    await service.accounts.revokeKey(id);
    await stream.ended;
    // That of a key in force goes on, to the end of the run.
    await service.store.append(traceId, 1, [finished()]);
    await other.heard('run.finished');
    expect(stream.frames.map(({ event }) => event)).not.toContain('run.finished');
  });

  it('events.elsewhere: of a run that another process executes come too', async () => {
    const service = await startService({ worker: false });
    const stream = openEvents(service, traceIdOf(await service.run()));
    await stream.heard('run.queued');
    // Nothing of another service on the same database is heard of here but by the rows.
    await startService({ parts: { ...service, store: createTraceStore(service.database, { appUrl: APP_URL }) } });
    await stream.ended;
    expect(stream.frames.map(({ id }) => id)).toEqual(upTo(stream.frames.length));
    expect(stream.frames.at(-1)).toMatchObject({ event: 'run.finished', data: { status: 'completed' } });
  });

  it('events.attempts: go on over the attempts of a run', async () => {
    const service = await startService({ worker: false });
    const traceId = await addTrace(service, { isFinished: false });
    const stream = openEvents(service, traceId);
    await stream.heard('run.started');
    await service.store.startNextAttempt(traceId, 1, 'lost');
    await service.store.append(traceId, 2, [started, finished()]);
    await stream.ended;
    expect(stream.frames.map(({ event, data }) => [event, data.attempt])).toEqual([
      ['run.queued', 1],
      ['run.started', 1],
      ['run.queued', 2],
      ['run.started', 2],
      ['run.finished', 2],
    ]);
  });

  it('events.deleted: end where the trace is deleted before the event that the reader says to have', async () => {
    const service = await startService({ worker: false });
    const traceId = await addTrace(service, { isFinished: false });
    const stream = openEvents(service, traceId, { 'last-event-id': '999' });
    await stream.begun;
    await service.store.append(traceId, 1, [finished()]);
    await service.store.remove(traceId);
    await stream.ended;
    expect(stream.frames).toEqual([]);
  });

  it('events.slow: a reader who takes nothing for a while misses none', async () => {
    const service = await startService({ worker: false });
    const traceId = await addTrace(service, { logs: 1_500, text: 'x'.repeat(10_000), isFinished: false });
    const stream = openEvents(service, traceId);
    const response = await stream.begun;
    response.pause();
    await service.store.append(traceId, 1, [log('meanwhile'), finished()]);
    // The service goes on while the sockets are full.
    expect((await service.request(`/v1/traces?limit=1`)).status).toBe(200);
    response.resume();
    await stream.ended;
    expect(stream.frames.map(({ id }) => id)).toEqual(upTo(1_504));
  });

  it('events.slow-memory: of what a reader does not take no more than one page is read', async () => {
    const { store } = await startService({ worker: false });
    const traceId = await addTrace({ store }, { logs: 1_000 });
    let read = 0;
    const counting: Pick<typeof store, 'events' | 'row' | 'subscribe'> = {
      row: (id) => store.row(id),
      subscribe: (id, listener) => store.subscribe(id, listener),
      events: async (id, options) => {
        const events = await store.events(id, options);
        read += events.length;
        return events;
      },
    };
    let isEnded = false;
    const taken: string[] = [];
    const text = startEventFeed({
      source: eventsOf(counting, traceId),
      after: 0,
      isPermitted: async () => true,
      signal: new AbortController().signal,
      keepAliveMs: 60_000,
      onError: (error) => expect.unreachable(String(error)),
    });
    text.readTo({
      write: (piece) => taken.push(piece) < 0,
      end() {
        isEnded = true;
      },
      cut: () => expect.unreachable(),
    });
    await expect.poll(() => taken.length).toBe(1);
    for (let turn = 0; turn < 100; turn++) await nextTurn();
    expect([taken.length, read]).toEqual([1, 100]);
    for (let turn = 0; turn < 10_000 && !isEnded; turn += 1) {
      text.drained();
      await nextTurn();
    }
    expect(isEnded).toBe(true);
    expect(taken.join('').match(/^id: /gm)).toHaveLength(1_003);
    expect(read).toBe(1_003);
  });

  it('events.shutdown: a service that closes ends the stream, and the next one goes on with it', async () => {
    const parts = await openParts();
    const service = await startService({ worker: false, parts });
    const traceId = await addTrace(service, { isFinished: false });
    const stream = openEvents(service, traceId);
    await stream.heard('run.started');
    await service.close();
    await stream.ended; // Not cut: it has its end.
    await service.store.append(traceId, 1, [finished()]);
    const next = openEvents(await startService({ worker: false, parts }), traceId, { 'last-event-id': '2' });
    await next.ended;
    expect(next.frames.map(({ id }) => id)).toEqual([3]);
  });

  it('events.head: HEAD answers with the headers alone, and leaves nothing open', async () => {
    const service = await startService({ worker: false });
    const traceId = await addTrace(service, { isFinished: false });
    const reply = await service.request(`/v1/traces/${traceId}/events`, { method: 'HEAD' });
    expect([reply.status, reply.headers['content-type'], reply.text]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      '',
    ]);
  });

  it('events.account: of another account, of no trace and of no id are not found', async () => {
    const service = await startService({ worker: false });
    const foreign = await addTrace(service, { account: 'other' });
    for (const traceId of [foreign, '0'.repeat(32), 'nonsense']) {
      expect(await service.request(`/v1/traces/${traceId}/events`)).toMatchObject({
        status: 404,
        json: { error: { code: 'trace_not_found', param: null } },
      });
    }
  });

  it('events.browser: a signed-in browser reads those of its account', async () => {
    const service = await startService({ worker: false });
    const traceId = await addTrace(service);
    const { session } = await service.accounts.createBrowserSession('local');
    const path = `/v1/traces/${traceId}/events`;
    expect((await send(service.url, path)).status).toBe(401);
    const reply = await send(service.url, path, { headers: { cookie: `proctor_session=${session}` } });
    expect([reply.status, reply.text.match(/^event: /gm)?.length]).toEqual([200, 3]);
  });
});

describe('model.delta', () => {
  it('events.delta: comes without an id while the model streams, between its request and its response, and is not stored', async () => {
    const [mayStream, mayAnswer] = [deferred<void>(), deferred<void>()];
    const respond = async (request: ModelRequest): Promise<ModelResponse> => {
      await mayStream.promise;
      request.onDelta?.({ reasoning: 'Hm.' });
      request.onDelta?.({ content: 'Do' });
      request.onDelta?.({ content: 'ne' });
      await mayAnswer.promise;
      return await scriptedModel(['Done']).respond(request);
    };
    const models = answeringModels(respond);
    const service = await startService({ models });
    const traceId = traceIdOf(await service.run({ model: 'any' }));
    const stream = openEvents(service, traceId);
    await stream.heard('model.requested');
    mayStream.resolve();
    await stream.heard('model.delta');
    mayAnswer.resolve();
    await stream.ended;

    const types = stream.frames.map(({ event }) => event);
    const at = types.indexOf('model.requested');
    expect(stream.frames.slice(at + 1, at + 4)).toEqual([
      { id: undefined, event: 'model.delta', data: { type: 'model.delta', attempt: 1, reasoning: 'Hm.' } },
      { id: undefined, event: 'model.delta', data: { type: 'model.delta', attempt: 1, content: 'Do' } },
      { id: undefined, event: 'model.delta', data: { type: 'model.delta', attempt: 1, content: 'ne' } },
    ]);
    expect(types.lastIndexOf('model.delta')).toBeLessThan(types.indexOf('model.responded'));
    const stored = await service.store.events(traceId);
    expect(stored.map(({ type }) => type)).not.toContain('model.delta');
    expect(stream.frames.flatMap(({ id }) => id ?? [])).toEqual(upTo(stored.length));
  });
});

it('a run that is cancelled while it is watched ends the stream with its end', async () => {
  const service = await startService();
  const traceId = traceIdOf(await service.run(SLOW_RUN));
  await untilToolCalled(service, traceId);
  const stream = openEvents(service, traceId);
  await stream.heard('tool.called');
  await service.request(`/v1/traces/${traceId}/cancel`, { method: 'POST' });
  await stream.ended;
  expect(stream.frames.at(-1)).toMatchObject({ event: 'run.finished', data: { status: 'cancelled' } });
});
