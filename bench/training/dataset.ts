import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream, readFileSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { datasetSelectSchema } from '../../src/contract/service/dataset.ts';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { createTraceStore } from '../../src/store/traces/database-store.ts';
import { createRedactor } from '../../src/support/redaction/redactor.ts';
import { buildDataset } from '../../src/training/dataset/build-dataset.ts';
import { validateFile } from '../../src/training/dataset/validate/validate-file.ts';
import { fillWithTraces } from './fill.ts';

const COUNT = Number(process.env.BENCH_TRACES ?? 100_000);
const FILE_BYTES = 512 * 1_024 * 1_024;
const MIB = 1_024 * 1_024;

interface Measured {
  readonly seconds: number;
  /** Of all its threads: what a machine with other things to do takes longer for is not in it. */
  readonly cpuSeconds: number;
  readonly peakMiB: number;
  readonly lines: number;
  readonly hash?: string;
}

/** A dataset out of 100,000 traces, twice, and the validation of 512 MiB: each in a process of its own, for its memory. */
export async function run(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-dataset-'));
  try {
    const address = `sqlite:${join(folder, 'traces.db')}`;
    const database = await openDatabase(address);
    await fillWithTraces(database, COUNT);
    await database.close();
    const [one, other] = [join(folder, 'one'), join(folder, 'other')];
    const first = inProcess('build', address, one);
    const second = inProcess('build', address, other);
    const isSame = ['train.jsonl', 'validation.jsonl', 'sources.jsonl', 'dataset.json', 'dataset.md'].every((name) =>
      readFileSync(join(one, name)).equals(readFileSync(join(other, name))),
    );
    const large = join(folder, 'large.jsonl');
    await repeat(join(one, 'train.jsonl'), large, FILE_BYTES);
    const validated = inProcess('validate', large);
    console.table([
      { what: `dataset of ${COUNT} traces`, ...first, 'the same again': isSame },
      { what: 'once more', ...second },
      { what: `validation of ${Math.round((await stat(large)).size / MIB)} MiB`, ...validated },
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The file again and again, until it is as large. */
async function repeat(from: string, to: string, bytes: number): Promise<void> {
  const { size } = await stat(from);
  const out = createWriteStream(to);
  for (let written = 0; written < bytes; written += size) {
    for await (const chunk of createReadStream(from)) {
      if (!out.write(chunk)) await once(out, 'drain');
    }
  }
  out.end();
  await finished(out);
}

function inProcess(...args: readonly string[]): Measured {
  const self = fileURLToPath(import.meta.url);
  const output = execFileSync(process.execPath, ['--import', 'tsx', self, ...args], { encoding: 'utf8' });
  return JSON.parse(output) as Measured;
}

async function buildOnce(address: string, folder: string): Promise<Measured> {
  const database = await openDatabase(address);
  const traces = createTraceStore(database, { appUrl: 'http://127.0.0.1' });
  const startedAt = performance.now();
  const { lines, hash } = await buildDataset(
    { database, traces, redactor: createRedactor([{ name: 'key', value: 'a-secret-that-is-nowhere' }]) },
    { account: 'local', from: { filter: {} }, format: 'openai', select: datasetSelectSchema.parse({}), heldOut: [] },
    folder,
    { signal: new AbortController().signal },
  );
  const seconds = secondsSince(startedAt);
  await database.close();
  return { seconds, cpuSeconds: cpuSeconds(), peakMiB: peakMiB(), lines: lines.train + lines.validation, hash };
}

async function validateOnce(path: string): Promise<Measured> {
  const startedAt = performance.now();
  const { signal } = new AbortController();
  const { lines, errors } = await validateFile(path, { format: 'openai', signal, onProblem: () => {} });
  if (errors > 0) throw new Error(`${errors} errors in lines that are right`);
  return { seconds: secondsSince(startedAt), cpuSeconds: cpuSeconds(), peakMiB: peakMiB(), lines };
}

function secondsSince(startedAt: number): number {
  return Math.round((performance.now() - startedAt) / 100) / 10;
}

/** Its start is part of it. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return Math.round((user + system) / 100_000) / 10;
}

/** Of the whole process, as the system counted it. */
function peakMiB(): number {
  return Math.round(process.resourceUsage().maxRSS / 1_024);
}

const [command, ...paths] = process.argv[1] === fileURLToPath(import.meta.url) ? process.argv.slice(2) : [];
if (command === 'build') console.log(JSON.stringify(await buildOnce(paths[0] ?? '', paths[1] ?? '')));
if (command === 'validate') console.log(JSON.stringify(await validateOnce(paths[0] ?? '')));
