import { expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createDatabaseQueue } from '../../../src/store/queue/database-queue.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { ownPostgres } from '../../postgres.ts';
import { log, newTrace, seqs, started, upTo } from '../traces/events.ts';

const WRITERS = 8;
/** A request that comes while the server is away may be refused; what was accepted is counted. */
const isRefusal = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'store_unavailable';

it('nothing is lost or doubled when Postgres is restarted and killed under load', { timeout: 120_000 }, async () => {
  const server = await ownPostgres();
  onTestFinished(() => server.close());
  const url = await server.createDatabase();
  const databases = [await openDatabase(url), await openDatabase(url)];
  for (const database of databases) onTestFinished(() => database.close());
  const stores = databases.map((database) => createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' }));
  const queues = databases.map((database) => createDatabaseQueue(database));
  const [reader, queue] = [stores[0], queues[0]];
  if (reader === undefined || queue === undefined) throw new Error('two stores are expected');

  let isOver = false;
  const acknowledged = new Map<string, number>();
  const write = async (writer: number) => {
    const store = stores[writer % 2] ?? reader;
    const trace = newTrace();
    await store.create(trace);
    await store.append(trace.traceId, 1, [started]);
    for (let index = 0; !isOver; index++) {
      await store.append(trace.traceId, 1, [log(`${index}`), log('and')]);
      acknowledged.set(trace.traceId, index + 1);
    }
  };
  const accepted: string[] = [];
  const accept = async (accepting: number) => {
    const [store, own] = [stores[accepting % 2] ?? reader, queues[accepting % 2] ?? queue];
    while (!isOver) {
      const trace = newTrace();
      try {
        await store.create(trace, (transaction) => own.enqueue({ traceId: trace.traceId, priority: 0 }, transaction));
        accepted.push(trace.traceId);
      } catch (error) {
        if (!isRefusal(error)) throw error;
      }
    }
  };
  const load = Promise.all([...upTo(WRITERS).map(write), ...upTo(2).map(accept)]);

  const more = async () => {
    const [written, created] = [[...acknowledged.values()].reduce((sum, each) => sum + each, 0), accepted.length];
    const isMore = () =>
      [...acknowledged.values()].reduce((sum, each) => sum + each, 0) > written + 100 && accepted.length > created + 10;
    await expect.poll(isMore, { timeout: 30_000, interval: 10 }).toBe(true);
  };
  for (const fault of ['restart', 'kill', 'restart', 'kill'] as const) {
    await more();
    await server.command(fault);
    if (fault === 'kill') await server.command('start');
  }
  await more();
  isOver = true;
  await load;

  expect(acknowledged.size).toBe(WRITERS);
  for (const [traceId, count] of acknowledged) {
    const events = await reader.events(traceId);
    expect(seqs(events)).toEqual(upTo(2 + 2 * count));
    const messages = events.flatMap((event) =>
      event.type === 'log' && event.message !== 'and' ? [event.message] : [],
    );
    expect(messages).toEqual(upTo(count).map((index) => `${index - 1}`));
  }
  for (const traceId of accepted) expect(await reader.row(traceId)).toMatchObject({ status: 'queued', lastSeq: 1 });
  expect(await queue.missing(accepted)).toEqual([]);
});
