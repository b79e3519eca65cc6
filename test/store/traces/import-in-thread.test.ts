import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { FormatError } from '../../../src/store/formats/imported-trace.ts';
import { jsonlFormat } from '../../../src/store/formats/jsonl.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { importInThread } from '../../../src/store/traces/import-in-thread.ts';
import { createRedactor, NO_REDACTION } from '../../../src/support/redaction/redactor.ts';
import { openParts, temporaryDirectory } from '../../service/runs/service.ts';
import { randomTrace } from '../formats/random-trace.ts';
import { writeContext } from '../formats/round-trip.ts';

const SECRET = 'correct-horse-battery';
const OPTIONS = { account: 'local', redactor: createRedactor([{ name: 'pass', value: SECRET }]) };
const line = (seed: number, answer = 'x') =>
  `${JSON.stringify(jsonlFormat.toLine({ ...randomTrace(seed), answer }, writeContext()))}\n`;

function fileOf(text: string): string {
  const file = join(temporaryDirectory(), 'traces.jsonl');
  writeFileSync(file, text);
  return file;
}

describe('the import of a file in a thread', () => {
  it('stores its traces without the secrets that this process knows, and parses nothing here', async () => {
    const { database, store } = await openParts();
    const parse = vi.spyOn(JSON, 'parse');
    onTestFinished(() => parse.mockRestore());
    const signal = AbortSignal.any([]);
    const imported = await importInThread(database, fileOf(line(1, SECRET) + line(2)), { ...OPTIONS, signal });
    expect(parse.mock.calls.filter(([text]) => String(text).includes('trace_id'))).toEqual([]);
    expect(imported).toMatchObject({ added: 2, traceIds: [expect.any(String), expect.any(String)] });
    const traces = await Promise.all(imported.traceIds.map((id) => store.trace(id)));
    expect(JSON.stringify(traces)).not.toContain(SECRET);
    expect(traces[0]?.answer).toBe('[redacted:pass]');
  });

  it('keeps everything where nothing is redacted', async () => {
    const { database, store } = await openParts();
    const options = { ...OPTIONS, redactor: NO_REDACTION, signal: AbortSignal.any([]) };
    const { traceIds } = await importInThread(database, fileOf(line(1, SECRET)), options);
    expect((await store.trace(traceIds[0] ?? ''))?.answer).toBe(SECRET);
  });

  it('is refused for a wrong file with the same words as anywhere', async () => {
    const { database } = await openParts();
    const importing = importInThread(database, fileOf('{"is": "no trace"}\n'), {
      ...OPTIONS,
      signal: AbortSignal.any([]),
    });
    await expect(importing).rejects.toThrow(FormatError);
  });

  it('ends with the reason of the signal, and stores nothing', async () => {
    const { database } = await openParts();
    const stopping = new AbortController();
    const file = fileOf(Array.from({ length: 200 }, (_, index) => line(index + 1)).join(''));
    const importing = importInThread(database, file, { ...OPTIONS, signal: stopping.signal });
    stopping.abort(new Error('The client went away'));
    await expect(importing).rejects.toThrow('The client went away');
    expect(await database.kysely.selectFrom('traces').selectAll().execute()).toEqual([]);
  });

  it('runs here for a database in memory, which has no second connection', async () => {
    const database = await openDatabase('sqlite::memory:');
    onTestFinished(() => database.close());
    const store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' });
    const options = { ...OPTIONS, signal: AbortSignal.any([]) };
    const { traceIds, added } = await importInThread(database, fileOf(line(1)), options);
    expect([added, (await store.trace(traceIds[0] ?? ''))?.answer]).toEqual([1, 'x']);
  });
});
