import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { exportTraces } from '../../src/cli/exchange/export/export-traces.ts';
import type { Database } from '../../src/store/database/database.ts';
import { openDatabase } from '../../src/store/database/open-database.ts';
import type { ExportFormat } from '../../src/store/formats/format.ts';
import { createTraceStore } from '../../src/store/traces/database-store.ts';
import { sourceOf } from '../../test/store/formats/trace-source.ts';
import { fillWithTraces } from '../training/fill.ts';

const COUNT = Number(process.env.BENCH_TRACES ?? 10_000);
const FORMATS: readonly ExportFormat[] = ['jsonl', 'atif', 'inspect', 'verifiers', 'openai', 'trl'];
const FLOOR = 'their events copied as bytes';
const MIB = 1_024 * 1_024;
/** Rows that the floor reads at once. */
const ROWS = 2_000;

interface Measured {
  readonly traces: number;
  readonly seconds: number;
  /** Of all its threads, from the first trace to the last. */
  readonly cpuSeconds: number;
  readonly peakMiB: number;
}

/** 10,000 traces of some 20 events in each format, each in a process of its own, and the same events copied as bytes. */
export async function run(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-export-'));
  try {
    const address = `sqlite:${join(folder, 'traces.db')}`;
    const database = await openDatabase(address);
    await fillWithTraces(database, COUNT);
    await database.close();
    const rows = [];
    for (const what of [FLOOR, ...FORMATS]) {
      const out = join(folder, `${what.replaceAll(' ', '-')}.out`);
      const { traces, seconds, cpuSeconds, peakMiB } = inProcess(what, address, out);
      rows.push({
        what,
        traces,
        'traces/s': Math.round(traces / seconds),
        'traces/s of processor time': Math.round(traces / cpuSeconds),
        'peak MiB': peakMiB,
        'file MiB': Math.round((await sizeOf(out)) / MIB),
        load: loadavg()[0]?.toFixed(1),
      });
      await rm(out, { recursive: true, force: true });
    }
    console.table(rows);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function sizeOf(path: string): Promise<number> {
  const found = await stat(path);
  return found.isDirectory() ? (await stat(join(path, 'results.jsonl'))).size : found.size;
}

function inProcess(...args: readonly string[]): Measured {
  const self = fileURLToPath(import.meta.url);
  const output = execFileSync(process.execPath, ['--import', 'tsx', self, ...args], { encoding: 'utf8' });
  return JSON.parse(output) as Measured;
}

async function measure(what: string, address: string, out: string): Promise<Measured> {
  const database = await openDatabase(address);
  const startedAt = performance.now();
  const before = process.cpuUsage();
  const traces = what === FLOOR ? await copyEvents(database, out) : await write(database, what as ExportFormat, out);
  const { user, system } = process.cpuUsage(before);
  const seconds = (performance.now() - startedAt) / 1_000;
  await database.close();
  const peakMiB = Math.round(process.resourceUsage().maxRSS / 1_024);
  return { traces, seconds, cpuSeconds: (user + system) / 1_000_000, peakMiB };
}

async function write(database: Database, format: ExportFormat, out: string): Promise<number> {
  const store = createTraceStore(database, { appUrl: 'http://127.0.0.1' });
  const filters = { env_name: 'retail' };
  const { signal } = new AbortController();
  return (await exportTraces(sourceOf(store), { named: [], filters, format, out, atif: '1.8', signal })).traces;
}

async function copyEvents(database: Database, out: string): Promise<number> {
  const file = createWriteStream(out);
  let last = { trace_id: '', seq: 0 };
  for (;;) {
    const rows = await database.scans
      .selectFrom('events')
      .select(['trace_id', 'seq', 'body'])
      .where((row) =>
        row.or([
          row('trace_id', '>', last.trace_id),
          row.and([row('trace_id', '=', last.trace_id), row('seq', '>', last.seq)]),
        ]),
      )
      .orderBy('trace_id')
      .orderBy('seq')
      .limit(ROWS)
      .execute();
    const end = rows.at(-1);
    if (end === undefined) break;
    last = end;
    if (!file.write(rows.map(({ body }) => `${body}\n`).join(''))) await once(file, 'drain');
  }
  file.end();
  await finished(file);
  return COUNT;
}

const [what, address, out] = process.argv[1] === fileURLToPath(import.meta.url) ? process.argv.slice(2) : [];
if (what !== undefined) console.log(JSON.stringify(await measure(what, address ?? '', out ?? '')));
