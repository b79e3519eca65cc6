import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isJsonObject } from '../contract/json.ts';
import { LineSplitter } from '../runtime/line-splitter.ts';
import { isAtif, readTrajectory } from './atif/read.ts';
import { IMPORT_LIMITS, type ImportLimits, tooLarge } from './import-limits.ts';
import { FormatError, type ImportedTrace, type ReadContext } from './imported-trace.ts';
import { isInspectLog, readEvalLog, readJsonLog } from './inspect/read-log.ts';
import { isOwnTrace, readOwnTrace } from './jsonl.ts';
import { parseJson } from './parse-json.ts';
import { refuseUnstorable } from './storable.ts';
import { type FolderFacts, isResultRow, ResultRows, readFolderFacts } from './verifiers/read.ts';
import { isEpisode, readEpisode } from './verifiers/read-episodes.ts';
import { ZipReader } from './zip-reader.ts';

const NO_FACTS: FolderFacts = { env: undefined, model: undefined };
const KNOWN =
  'traces of Proctor (JSONL), ATIF trajectories, Inspect logs (.json, .eval) and results of verifiers (a folder, results.jsonl, traces.jsonl) are read';

/**
 * The traces of a file or folder, one after the other. Its format is found by what is in it.
 *
 * @throws FormatError for a file that is of no known format, broken, or over a limit.
 */
export async function* readTraces(
  path: string,
  context: ReadContext,
  limits: ImportLimits = IMPORT_LIMITS,
): AsyncGenerator<ImportedTrace> {
  let count = 0;
  for await (const trace of readAny(path, context, limits)) {
    count += 1;
    if (count > limits.samples) throw new FormatError(`It has more than ${limits.samples} traces, which is the limit.`);
    refuseUnstorable(trace);
    yield trace;
  }
  if (count === 0) throw new FormatError(`It has no traces: ${KNOWN}.`);
}

async function* readAny(path: string, context: ReadContext, limits: ImportLimits): AsyncGenerator<ImportedTrace> {
  const stats = await stat(path).catch((error: unknown) => {
    throw unreadable(error);
  });
  if (stats.isDirectory()) return yield* readFolder(path, context, limits);
  // A pipe or a device may never end.
  if (!stats.isFile()) throw new FormatError('It is no ordinary file.');
  if (stats.size > limits.fileBytes) throw tooLarge(`The file, of ${stats.size} bytes,`, limits.fileBytes);
  if (await isZip(path)) {
    using zip = await ZipReader.open(path, limits);
    return yield* readEvalLog(zip, context, limits);
  }
  return yield* readText(path, context, limits, NO_FACTS);
}

/** A folder that verifiers has written. */
async function* readFolder(path: string, context: ReadContext, limits: ImportLimits): AsyncGenerator<ImportedTrace> {
  for (const name of ['results.jsonl', 'traces.jsonl']) {
    const file = join(path, name);
    const stats = await stat(file).catch(() => undefined);
    if (stats === undefined) continue;
    if (!stats.isFile()) throw new FormatError(`${name} is no ordinary file.`);
    if (stats.size > limits.fileBytes) throw tooLarge(`${name}, of ${stats.size} bytes,`, limits.fileBytes);
    return yield* readText(file, context, limits, await readFacts(path, limits));
  }
  throw new FormatError('The folder has neither results.jsonl nor traces.jsonl of verifiers.');
}

async function readFacts(folder: string, limits: ImportLimits): Promise<FolderFacts> {
  const path = join(folder, 'metadata.json');
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined || !stats.isFile()) return NO_FACTS;
  const lines: string[] = [];
  for await (const line of linesOf(path, limits)) lines.push(line);
  return readFolderFacts(parseJson(lines.join('\n'), limits, 'metadata.json'));
}

/** One document, or one in each line: as its first line says. */
async function* readText(
  path: string,
  context: ReadContext,
  limits: ImportLimits,
  facts: FolderFacts,
): AsyncGenerator<ImportedTrace> {
  const rows = new ResultRows(facts);
  /** Lines of a document, until it is clear that each is one of its own. */
  let document: string[] | undefined;
  let number = 0;
  let isFirst = true;
  for await (const line of linesOf(path, limits)) {
    number += 1;
    if (document === undefined && line.trim() === '') continue;
    if (document !== undefined || (isFirst && !isWhole(line))) {
      document ??= [];
      document.push(line);
      continue;
    }
    isFirst = false;
    const value = parseJson(line, limits, `Line ${number}`);
    yield* named(readValue(value, rows, context, limits), `Line ${number}`);
  }
  if (document !== undefined) yield* readValue(parseJson(document.join('\n'), limits), rows, context, limits);
}

function isWhole(line: string): boolean {
  const text = line.trim();
  return text.startsWith('{') && text.endsWith('}');
}

function* named(traces: Iterable<ImportedTrace>, place: string): Generator<ImportedTrace> {
  try {
    yield* traces;
  } catch (error) {
    if (error instanceof FormatError) throw new FormatError(`${place}: ${error.message}`, { cause: error });
    throw error;
  }
}

function* readValue(
  value: unknown,
  rows: ResultRows,
  context: ReadContext,
  limits: ImportLimits,
): Generator<ImportedTrace> {
  if (isAtif(value)) yield readTrajectory(value, context);
  else if (isOwnTrace(value)) yield readOwnTrace(value, context);
  else if (isInspectLog(value)) yield* readJsonLog(value, context, limits);
  else if (isResultRow(value)) yield rows.read(value, context);
  else if (isEpisode(value)) yield* readEpisode(value, context);
  else if (Array.isArray(value) && value.every(isAtif)) for (const each of value) yield readTrajectory(each, context);
  else throw new FormatError(`${describe(value)} is of no format that is known here: ${KNOWN}.`);
}

function describe(value: unknown): string {
  if (!isJsonObject(value)) return 'It';
  const names = Object.keys(value).slice(0, 5);
  return `An object with ${names.length === 0 ? 'no fields' : names.map((name) => JSON.stringify(name.slice(0, 30))).join(', ')}`;
}

/** Lines of a file of UTF-8, one at a time. Bytes are counted as they come: a file may grow while it is read. */
async function* linesOf(path: string, limits: ImportLimits): AsyncGenerator<string> {
  const file = await openToRead(path);
  try {
    const lines: string[] = [];
    const splitter = new LineSplitter(limits.fileBytes, (line) => lines.push(line));
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let size = 0;
    for await (const chunk of file.createReadStream({ autoClose: false })) {
      const bytes = chunk as Uint8Array; // A stream of bytes, without an encoding.
      size += bytes.length;
      if (size > limits.fileBytes) throw tooLarge('The file', limits.fileBytes);
      splitter.push(decode(decoder, bytes));
      yield* lines.splice(0);
    }
    decode(decoder);
    splitter.end();
    yield* lines.splice(0);
  } catch (error) {
    throw unreadable(error);
  } finally {
    await file.close();
  }
}

function decode(decoder: TextDecoder, bytes?: Uint8Array): string {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
  } catch (error) {
    throw new FormatError('It has bytes that are not UTF-8.', { cause: error });
  }
}

async function isZip(path: string): Promise<boolean> {
  const file = await openToRead(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    const start = buffer.subarray(0, bytesRead).toString('latin1');
    return start === 'PK\x03\x04' || start === 'PK\x05\x06';
  } catch (error) {
    throw unreadable(error);
  } finally {
    await file.close();
  }
}

async function openToRead(path: string): Promise<FileHandle> {
  return await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw unreadable(error);
  });
}

/** A file that the system does not give is refused, and the others are read. */
function unreadable(error: unknown): unknown {
  const isOfSystem = error instanceof Error && 'syscall' in error;
  return isOfSystem ? new FormatError(reasonOf(error), { cause: error }) : error;
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return code === 'ENOENT' ? 'There is no such file.' : `It cannot be read (${code}).`;
}
