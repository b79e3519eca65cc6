import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Json } from '../../../src/contract/json.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { createRecorder, EventRecorder } from '../../../src/store/traces/event-recorder.ts';
import { AttemptSupersededError, type TraceStore } from '../../../src/store/traces/trace-store.ts';
import { finished, log, newTrace, started } from './events.ts';

let database: Database;
let store: TraceStore;
let traceId: string;

beforeEach(async () => {
  database = await openDatabase('sqlite::memory:');
  store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' });
  const trace = newTrace();
  traceId = trace.traceId;
  await store.create(trace);
});
afterEach(async () => database.close());

const messages = async () =>
  (await store.events(traceId)).flatMap((event) => (event.type === 'log' ? [event.message] : []));

describe('an event recorder', () => {
  it('writes events in the order in which they were recorded', async () => {
    const recorder = createRecorder(store, traceId, 1);
    for (let index = 0; index < 30; index++) recorder.record(log(`${index}`));
    await recorder.settled();
    expect(await messages()).toEqual(Array.from({ length: 30 }, (_, index) => `${index}`));
  });

  it('is settled at once where nothing was recorded', async () => {
    await createRecorder(store, traceId, 1).settled();
  });

  it('rejects with what went wrong, for every wait, and records nothing more', async () => {
    const recorder = createRecorder(store, traceId, 1);
    recorder.record(started);
    await store.startNextAttempt(traceId, 1, 'lost');
    recorder.record(log('stalled'));
    await expect(recorder.settled()).rejects.toBeInstanceOf(AttemptSupersededError);
    recorder.record(log('later'));
    await expect(recorder.settled()).rejects.toBeInstanceOf(AttemptSupersededError);
    expect(await messages()).toEqual([]);
  });

  it('leaves no unhandled rejection where nobody waits', async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', onUnhandled);
    try {
      await store.append(traceId, 1, [finished()]);
      createRecorder(store, traceId, 1).record(log('too late'));
      await expect(store.append(traceId, 1, [log('after it')])).rejects.toThrow(); // settled after the one before
      await new Promise(setImmediate);
      expect(unhandled).toEqual([]);
    } finally {
      process.off('unhandledRejection', onUnhandled);
    }
  });
});

describe('a recorder whose writes fail', () => {
  it('keeps the first failure for every later wait and tells it by its signal, without being asked', async () => {
    const full = new Error('disk full');
    let failure: Error | undefined = full;
    const written: string[] = [];
    const recorder = new EventRecorder({
      async append({ type }) {
        written.push(type);
        if (failure !== undefined) throw failure;
      },
      toStored: async (value) => value,
    });
    const failed = new Promise((resolve) => recorder.failed.addEventListener('abort', resolve));
    recorder.record(log('first'));
    await failed;
    expect(recorder.failed.reason).toBe(full);
    failure = undefined;
    await expect(recorder.settled()).rejects.toBe(full);
    await expect(recorder.toStored('x')).rejects.toBe(full);
    recorder.record(log('second'));
    expect(written).toEqual(['log']);
  });

  it('fails with what cannot be stored, too', async () => {
    const full = new Error('disk full');
    const toStored = async () => {
      throw full;
    };
    const recorder = new EventRecorder({ append: async () => {}, toStored });
    await expect(recorder.toStored('x')).rejects.toBe(full);
    await expect(recorder.settled()).rejects.toBe(full);
  });
});

describe('a recorder that has ended', () => {
  it('drops what comes after the end', async () => {
    const recorder = createRecorder(store, traceId, 1);
    recorder.record(log('first'));
    await recorder.end();
    recorder.record(log('late'));
    await recorder.settled();
    expect(await messages()).toEqual(['first']);
  });
});

describe('what a recorder stores', () => {
  const large = randomBytes(16 * 1024 + 1);
  const small = randomBytes(16 * 1024);
  const toStored = async <T extends Json>(value: T): Promise<T> => createRecorder(store, traceId, 1).toStored(value);
  const shaOf = (reference: unknown) => /^svc-blob:\/\/sha256\/([0-9a-f]{64})$/.exec(String(reference))?.[1] ?? '';

  it.each(['image', 'audio'])('refers to the bytes of an %s over 16 KiB', async (type) => {
    const block = { type, data: large.toString('base64'), mimeType: 'image/png', annotations: { priority: 1 } };
    const [stored] = await toStored([block]);
    expect(stored).toEqual({ ...block, data: expect.stringMatching(/^svc-blob:/) });
    expect(await store.blob(shaOf(stored?.data))).toEqual({ bytes: new Uint8Array(large), mimeType: 'image/png' });
    expect(block.data).toBe(large.toString('base64')); // not changed in place
  });

  it('refers to the bytes of a resource, wherever the content is', async () => {
    const resource = { uri: 'file:///a', blob: large.toString('base64') };
    const stored = await toStored({
      messages: [{ role: 'user', content: [{ type: 'resource', resource }] }],
      other: [1],
    });
    const blob = stored.messages[0]?.content[0]?.resource.blob;
    expect(await store.blob(shaOf(blob))).toMatchObject({ mimeType: 'application/octet-stream' });
    expect(stored).toMatchObject({ messages: [{ role: 'user', content: [{ type: 'resource' }] }], other: [1] });
  });

  it('keeps bytes of up to 16 KiB, text, and what is no base64, and gives the very value back', async () => {
    const value = [
      { type: 'image', data: small.toString('base64'), mimeType: 'image/png' },
      { type: 'text', text: large.toString('base64') },
      { type: 'image', data: `svc-blob://sha256/${'0'.repeat(20_000)}` },
      { type: 'image', data: '*'.repeat(40_000) },
      { type: 'other', data: large.toString('base64') },
      null,
      1,
    ];
    expect(await toStored(value)).toBe(value);
    expect(await toStored('text')).toBe('text');
    expect(await toStored(null)).toBeNull();
  });

  it('takes values that are nested without end', async () => {
    let nested: Json = { type: 'image', data: large.toString('base64'), mimeType: 'image/png' };
    for (let depth = 0; depth < 20_000; depth++) nested = [nested];
    expect(await toStored(nested)).toBe(nested);
  });
});
