import { lstat, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ExportPlan, type ExportReport, exportTraces } from '../../../src/cli/exchange/export/export-traces.ts';
import type { Trace } from '../../../src/contract/service/trace.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { jsonlFormat } from '../../../src/store/formats/jsonl.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { importFile } from '../../../src/store/traces/import-file.ts';
import type { TraceStore } from '../../../src/store/traces/trace-store.ts';
import { NO_REDACTION } from '../../../src/support/redaction/redactor.ts';
import { sharedPostgres } from '../../postgres.ts';
import { newTrace, newTraceId, started } from '../traces/events.ts';
import { randomTrace } from './random-trace.ts';
import { comparable, writeContext } from './round-trip.ts';
import { sourceOf } from './trace-source.ts';

let folder: string;
let database: Database;
let store: TraceStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proctor-formats-'));
  database = await openDatabase('sqlite::memory:');
  store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320', redactor: false });
});

afterEach(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

const local = { account: 'local', redactor: NO_REDACTION };

/** Stores generated traces, and gives their ids. */
async function have(count: number, change: (trace: Trace) => Trace = (trace) => trace): Promise<readonly string[]> {
  const file = join(folder, 'given.jsonl');
  const traces = Array.from({ length: count }, (_, index) => change(randomTrace(index + 1)));
  await writeFile(
    file,
    traces.map((trace) => `${JSON.stringify(jsonlFormat.toLine(trace, writeContext()))}\n`).join(''),
  );
  return (await importFile(database, file, local)).traceIds;
}

function plan(change: Partial<ExportPlan>): ExportPlan {
  return {
    named: [],
    filters: {},
    format: 'jsonl',
    out: undefined,
    atif: '1.8',
    signal: new AbortController().signal,
    ...change,
  };
}

async function tracesOf(ids: readonly string[]): Promise<readonly object[]> {
  const traces: object[] = [];
  for (const id of ids) {
    const trace = await store.trace(id);
    if (trace !== undefined) traces.push(comparable(trace));
  }
  return traces;
}

/** Imports every file of an export: formats with one model in a file have several. */
async function importAll(into: Database, { files }: ExportReport) {
  const traceIds: string[] = [];
  let added = 0;
  for (const { path } of files) {
    const imported = await importFile(into, path, local);
    traceIds.push(...imported.traceIds);
    added += imported.added;
  }
  return { traceIds, added };
}

function sorted(traces: readonly object[]): readonly object[] {
  return traces.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
}

/** Content whose bytes are put aside. */
const LARGE = Buffer.alloc(40_000, 7).toString('base64');

function withLargeImage(trace: Trace): Trace {
  const [first, ...others] = trace.steps;
  const record = first?.tool_results[0];
  if (first === undefined || record === undefined) return trace;
  const content = [{ type: 'image', data: LARGE, mimeType: 'image/png' }];
  const results = [{ ...record, content }, ...first.tool_results.slice(1)];
  return { ...trace, steps: [{ ...first, tool_results: results }, ...others] };
}

describe('traces that were exported from a store and imported into another', () => {
  it.each([
    ['jsonl', 'out.jsonl'],
    ['atif', 'out.jsonl'],
    ['inspect', 'out.json'],
    ['inspect', 'out.eval'],
    ['verifiers', 'folder'],
  ] as const)('are the same by %s (%s), with the bytes of their images', async (format, name) => {
    const ids = await have(60, withLargeImage);
    const out = join(folder, name);
    const report = await exportTraces(sourceOf(store), plan({ named: ids, format, out }));
    expect(report.traces).toBe(60);
    const written = await everything(folder);
    expect(written).not.toContain('svc-blob:');

    await using other = await openOther();
    const { traceIds, added } = await importAll(other.database, report);
    expect(added).toBe(60);
    const read = await Promise.all(traceIds.map((id) => other.store.trace(id)));
    const found = read.flatMap((trace) => (trace === undefined ? [] : [comparable(trace)]));
    expect(sorted(found)).toEqual(sorted(await tracesOf(ids)));
    expect(read.every((trace) => trace?.origin === 'import')).toBe(true);
  });

  it('are the same on Postgres, and not there twice', async () => {
    const ids = await have(20, withLargeImage);
    const out = join(folder, 'out.json');
    await exportTraces(sourceOf(store), plan({ named: ids, format: 'atif', out }));
    const address = await (await sharedPostgres()).createDatabase();
    const postgres = await openDatabase(address);
    try {
      const imported = await importFile(postgres, out, local);
      expect(imported.added).toBe(20);
      const other = createTraceStore(postgres, { appUrl: 'http://127.0.0.1:8320', redactor: false });
      const again = join(folder, 'again.jsonl');
      await exportTraces(sourceOf(other), plan({ named: imported.traceIds, out: again }));
      expect(await importFile(postgres, again, local)).toMatchObject({ traceIds: imported.traceIds, added: 0 });
      const read = await Promise.all(imported.traceIds.map((id) => other.trace(id)));
      expect(read.map((trace) => trace && comparable(trace))).toEqual(await tracesOf(ids));
    } finally {
      await postgres.close();
    }
  });

  it('have one id by each format that holds them wholly', async () => {
    const ids = await have(10, withLargeImage);
    await using other = await openOther();
    const stored: (readonly string[])[] = [];
    for (const [format, name] of [
      ['jsonl', 'out.jsonl'],
      ['atif', 'out.atif.jsonl'],
      ['inspect', 'out.eval'],
      ['verifiers', 'folder'],
    ] as const) {
      const out = join(folder, name);
      const report = await exportTraces(sourceOf(store), plan({ named: ids, format, out }));
      stored.push((await importAll(other.database, report)).traceIds.toSorted());
    }
    expect(stored).toEqual(stored.map(() => stored[0]));
    expect((await other.store.list({ account: 'local' })).data).toHaveLength(10);
  });

  it('are not there twice when the file is imported again', async () => {
    const ids = await have(20);
    const again = await importFile(database, join(folder, 'given.jsonl'), local);
    expect(again).toMatchObject({ traceIds: ids, added: 0 });
    await store.remove(ids[0] ?? '');
    expect((await importFile(database, join(folder, 'given.jsonl'), local)).added).toBe(1);
  });

  it('are counted neither by usage nor by a summary, unless it asks for them', async () => {
    await have(5);
    expect((await store.summary({ account: 'local' })).count).toBe(0);
    expect((await store.summary({ account: 'local', origin: 'import' })).count).toBe(5);
    expect(await store.usage({ account: 'local' })).toMatchObject([{ runs: 0, total_tokens: 0 }]);
    expect((await store.list({ account: 'local' })).data).toHaveLength(5);
  });

  it('are not there twice when results of verifiers are imported by their file and by their folder', async () => {
    const row = { example_id: 1, prompt: 'Hi', completion: [{ role: 'assistant', content: 'Ho' }], reward: 1 };
    await writeFile(join(folder, 'metadata.json'), JSON.stringify({ env_id: 'greetings', model: 'gpt-x' }));
    await writeFile(join(folder, 'results.jsonl'), `${JSON.stringify(row)}\n`);
    const { traceIds } = await importFile(database, join(folder, 'results.jsonl'), local);
    expect(await store.trace(traceIds[0] ?? '')).toMatchObject({ env_name: 'greetings', model: 'gpt-x' });
    expect(await importFile(database, folder, local)).toMatchObject({ traceIds, added: 0 });
  });

  it('are two where a file has the same one twice', async () => {
    const line = JSON.stringify(jsonlFormat.toLine(randomTrace(3), writeContext()));
    await writeFile(join(folder, 'twice.jsonl'), `${line}\n${line}\n`);
    const { traceIds } = await importFile(database, join(folder, 'twice.jsonl'), local);
    expect(new Set(traceIds).size).toBe(2);
  });
});

describe('an export', () => {
  it('refuses a run that has not ended, and leaves no file', async () => {
    const traceId = newTraceId();
    await store.create(newTrace({}, { traceId }));
    await store.append(traceId, 1, [started]);
    const out = join(folder, 'out.jsonl');
    await expect(exportTraces(sourceOf(store), plan({ named: [traceId], out }))).rejects.toThrow(
      /has to end before it is exported/,
    );
    await expect(exportTraces(sourceOf(store), plan({ filters: { origin: 'run' }, out }))).rejects.toThrow(traceId);
    expect(await readdir(folder)).toEqual([]);
  });

  it('names what is not there', async () => {
    await expect(exportTraces(sourceOf(store), plan({ named: ['f'.repeat(32)] }))).rejects.toThrow(/There is no trace/);
    await expect(exportTraces(sourceOf(store), plan({ named: ['eval_none'] }))).rejects.toThrow(
      /No trace is of "eval_none"/,
    );
    await expect(exportTraces(sourceOf(store), plan({}))).rejects.toThrow(/Say which traces/);
  });

  it('lists what its format cannot hold', async () => {
    const ids = await have(40);
    const report = await exportTraces(
      sourceOf(store),
      plan({ named: ids, format: 'openai', out: join(folder, 'out.jsonl') }),
    );
    expect(report.lost.map(({ field }) => field)).toEqual(expect.arrayContaining(['reward', 'steps[].started_at']));
    expect(report.skipped[0]).toMatch(/^Left out, since they did not complete: [0-9a-f]{32}/);
  });

  it('is written at the end of a link, and neither over a folder nor over a device', async () => {
    const ids = await have(3);
    await writeFile(join(folder, 'real.jsonl'), 'before');
    await symlink(join(folder, 'real.jsonl'), join(folder, 'link.jsonl'));
    await exportTraces(sourceOf(store), plan({ named: ids, out: join(folder, 'link.jsonl') }));
    expect((await lstat(join(folder, 'link.jsonl'))).isSymbolicLink()).toBe(true);
    expect((await readFile(join(folder, 'real.jsonl'), 'utf8')).trim().split('\n')).toHaveLength(3);
    const into = (out: string) => exportTraces(sourceOf(store), plan({ named: ids, out }));
    await expect(into(folder)).rejects.toThrow(/is a folder: name a file/);
    await expect(into(`${folder}/new/`)).rejects.toThrow(/is a folder: name a file/);
    await expect(into('/dev/null')).rejects.toThrow(/no ordinary file/);
    expect((await lstat('/dev/null')).isCharacterDevice()).toBe(true);
  });

  it('leaves the file of before where it is stopped', async () => {
    const ids = await have(10);
    const out = join(folder, 'out.jsonl');
    await writeFile(out, 'before');
    const stopped = plan({ named: ids, out, signal: AbortSignal.abort() });
    await expect(exportTraces(sourceOf(store), stopped)).rejects.toThrow();
    expect(await readFile(out, 'utf8')).toBe('before');
    expect((await readdir(folder)).sort()).toEqual(['given.jsonl', 'out.jsonl']);
  });
});

async function openOther() {
  const opened = await openDatabase('sqlite::memory:');
  return {
    database: opened,
    store: createTraceStore(opened, { appUrl: 'http://127.0.0.1:8320', redactor: false }),
    [Symbol.asyncDispose]: () => opened.close(),
  };
}

async function everything(path: string): Promise<string> {
  const names = await readdir(path, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return (await Promise.all(files.map((file) => readFile(file, 'latin1')))).join('\n');
}
