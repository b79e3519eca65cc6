import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import type { TraceStore } from '../../../src/store/traces/trace-store.ts';
import { Random } from '../../environment/server/random.ts';
import { sharedPostgres } from '../../postgres.ts';
import { Script } from '../../processes.ts';
import { newTrace } from './events.ts';

/** `KILL_SEED` plays the moments of a run that failed again. */
const SEED = Number(process.env.KILL_SEED ?? randomInt(2 ** 31));

let folder: string;
let url: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proctor-processes-'));
});
afterEach(async () => rm(folder, { recursive: true }));

const DATABASES = {
  SQLite: async () => `sqlite:${join(folder, 'proctor.db')}`,
  Postgres: async () => await (await sharedPostgres()).createDatabase(),
};

async function withStore<T>(use: (store: TraceStore) => Promise<T>): Promise<T> {
  const database = await openDatabase(url);
  try {
    return await use(createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' }));
  } finally {
    await database.close();
  }
}

describe.each(Object.entries(DATABASES))(
  'traces of several processes on %s',
  { timeout: 120_000 },
  (_, createDatabase) => {
    beforeEach(async () => {
      url = await createDatabase();
    });

    it(`hold every acknowledged event, without gap, after kill -9 at any point (KILL_SEED=${SEED})`, async () => {
      const random = new Random(SEED);
      const acknowledged = new Map<string, number>();
      for (let round = 0; round < 3; round++) {
        const killAfter = 1 + random.below(200);
        for (const [traceId, seq] of await writeUntilKilled(killAfter)) acknowledged.set(traceId, seq);
      }
      expect(acknowledged.size).toBeGreaterThanOrEqual(3);
      await withStore(async (store) => {
        for (const [traceId, seq] of acknowledged) {
          const events = await store.events(traceId);
          expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
          expect(events.length).toBeGreaterThanOrEqual(seq);
          const expected = ['run.queued', 'run.started', ...Array(events.length).fill('log')].slice(0, events.length);
          expect(events.map(({ type }) => type)).toEqual(expected);
          expect(await store.row(traceId)).toMatchObject({ lastSeq: events.length });
          expect((events.length - 2) % 2 === 0 || events.length === 1).toBe(true); // calls of two events are whole
        }
      });
    });

    it('lose no event and number none twice when two processes append to one attempt', async () => {
      const trace = newTrace();
      const appenders = ['a', 'b'].map((name) => {
        return new Script(new URL('fixtures/appender.ts', import.meta.url), [url, trace.traceId, name, '150']);
      });
      await Promise.all(appenders.map((appender) => appender.said(1)));
      await withStore((store) => store.create(trace));
      await Promise.all(appenders.map((appender) => appender.end()));
      const events = await withStore((store) => store.events(trace.traceId));
      expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 301 }, (_, index) => index + 1));
      for (const name of ['a', 'b']) {
        const own = events.flatMap((event) =>
          event.type === 'log' && event.message.startsWith(name) ? [event.message] : [],
        );
        expect(own).toEqual(Array.from({ length: 150 }, (_, index) => `${name} ${index}`));
      }
    });
  },
);

/** @returns the last sequence number that the writer was told of, by trace. */
async function writeUntilKilled(acknowledgements: number): Promise<Map<string, number>> {
  const writer = new Script(new URL('fixtures/writer.ts', import.meta.url), [url, '4']);
  await writer.said(acknowledgements);
  const lines = await writer.kill();
  return new Map(lines.map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]));
}
