import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isJsonObject } from '../../contract/json.ts';
import { LineSplitter } from '../../support/runtime/line-splitter.ts';
import { isOpenHere } from '../../support/runtime/open-files.ts';
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

const KNOWN =
  'traces of Proctor (JSONL), ATIF trajectories, Inspect logs (.json, .eval) and results of verifiers (a folder, results.jsonl, traces.jsonl) are read';

/**
 * Reads the traces of a file or folder one after the other. The content decides the format.
 *
 * @throws FormatError for a file of unknown format, a broken file, or one over a limit.
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
  const file = await findTraceFile(path, limits);
  if (await isZip(file)) {
    using zip = await ZipReader.open(file, limits);
    return yield* readEvalLog(zip, context, limits);
  }
  return yield* readText(file, context, limits);
}

/**
 * The file of a path that has traces: itself, or the one of a folder that verifiers has written.
 *
 * @throws FormatError for a path without one, and for a file that is too large.
 */
export async function findTraceFile(path: string, limits: Pick<ImportLimits, 'fileBytes'>): Promise<string> {
  const stats = await stat(path).catch((error: unknown) => {
    throw unreadable(error);
  });
  if (stats.isDirectory()) return await findInFolder(path, limits);
  // Reading a pipe or a device might never end.
  if (!stats.isFile()) throw new FormatError('It is no ordinary file.');
  if (stats.size > limits.fileBytes) throw tooLarge(`The file, of ${stats.size} bytes,`, limits.fileBytes);
  return path;
}

async function findInFolder(path: string, limits: Pick<ImportLimits, 'fileBytes'>): Promise<string> {
  for (const name of ['results.jsonl', 'traces.jsonl']) {
    const file = join(path, name);
    const stats = await stat(file).catch(() => undefined);
    if (stats === undefined) continue;
    if (!stats.isFile()) throw new FormatError(`${name} is no ordinary file.`);
    if (stats.size > limits.fileBytes) throw tooLarge(`${name}, of ${stats.size} bytes,`, limits.fileBytes);
    return file;
  }
  throw new FormatError('The folder has neither results.jsonl nor traces.jsonl of verifiers.');
}

/** Reads `metadata.json` beside a `results.jsonl`: the facts that all its rows share. */
export async function readFactsBeside(path: string, limits: ImportLimits = IMPORT_LIMITS): Promise<FolderFacts> {
  const facts = join(dirname(path), 'metadata.json');
  const stats = basename(path) === 'results.jsonl' ? await stat(facts).catch(() => undefined) : undefined;
  if (stats === undefined || !stats.isFile()) return { env: undefined, model: undefined };
  const lines: string[] = [];
  for await (const line of linesOf(facts, limits)) lines.push(line);
  return readFolderFacts(parseJson(lines.join('\n'), limits, 'metadata.json'));
}

/** Reads one document, or one document per line; the first line decides. */
async function* readText(path: string, context: ReadContext, limits: ImportLimits): AsyncGenerator<ImportedTrace> {
  let rows: ResultRows | undefined;
  /** Lines of a single document, until it is clear that each line is a document. */
  let document: string[] | undefined;
  let cut: CutLine | undefined;
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
    if (cut !== undefined) throw cut.error;
    const value = parseLine(line, number, limits);
    if (value instanceof CutLine) {
      cut = value;
      continue;
    }
    isFirst = false;
    if (isResultRow(value)) rows ??= new ResultRows(await readFactsBeside(path, limits));
    yield* named(readValue(value, rows, context, limits), `Line ${number}`);
  }
  if (cut !== undefined) {
    if (isFirst) throw cut.error;
    context.losses.add(`line ${cut.number}`, 'the last line is cut off: those before it are read');
  }
  if (document === undefined) return;
  const value = parseJson(document.join('\n'), limits);
  if (isResultRow(value)) rows = new ResultRows(await readFactsBeside(path, limits));
  yield* readValue(value, rows, context, limits);
}

/** A line with an unfinished object. The last line of an interrupted writer may look like this. */
class CutLine {
  readonly number: number;
  readonly error: FormatError;

  constructor(number: number, error: FormatError) {
    this.number = number;
    this.error = error;
  }
}

function parseLine(line: string, number: number, limits: ImportLimits): unknown {
  try {
    return parseJson(line, limits, `Line ${number}`);
  } catch (error) {
    const isCut = error instanceof FormatError && error.cause instanceof SyntaxError && line.trim().startsWith('{');
    if (isCut) return new CutLine(number, error);
    throw error;
  }
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
  rows: ResultRows | undefined,
  context: ReadContext,
  limits: ImportLimits,
): Generator<ImportedTrace> {
  if (isAtif(value)) yield readTrajectory(value, context);
  else if (isOwnTrace(value)) yield readOwnTrace(value, context);
  else if (isInspectLog(value)) yield* readJsonLog(value, context, limits);
  else if (rows !== undefined && isResultRow(value)) yield rows.read(value, context);
  else if (isEpisode(value)) yield* readEpisode(value, context);
  else if (Array.isArray(value) && value.every(isAtif)) for (const each of value) yield readTrajectory(each, context);
  else throw new FormatError(`${describe(value)} is of no format that is known here: ${KNOWN}.`);
}

function describe(value: unknown): string {
  if (!isJsonObject(value)) return 'It';
  const names = Object.keys(value).slice(0, 5);
  return `An object with ${names.length === 0 ? 'no fields' : names.map((name) => JSON.stringify(name.slice(0, 30))).join(', ')}`;
}

/** Lines of a UTF-8 file, one at a time. Bytes are counted during reading, because a file may grow. */
async function* linesOf(path: string, limits: ImportLimits): AsyncGenerator<string> {
  const file = await openToRead(path);
  try {
    const lines: string[] = [];
    const splitter = new LineSplitter(limits.fileBytes, (line) => lines.push(line));
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let size = 0;
    for await (const chunk of file.createReadStream({ autoClose: false })) {
      const bytes = chunk as Uint8Array; // The stream has no encoding, so its chunks are bytes.
      size += bytes.length;
      if (size > limits.fileBytes) throw tooLarge('The file', limits.fileBytes);
      splitter.push(decode(decoder, bytes));
      yield* lines.splice(0);
    }
    splitter.push(restOf(decoder));
    splitter.end();
    yield* lines.splice(0);
  } catch (error) {
    throw unreadable(error);
  } finally {
    await file.close();
  }
}

function decode(decoder: TextDecoder, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true });
  } catch (error) {
    throw new FormatError('It has bytes that are not UTF-8.', { cause: error });
  }
}

/** A file that was cut inside of a character ends with a replacement character, which no JSON ends with. */
function restOf(decoder: TextDecoder): string {
  try {
    return decoder.decode();
  } catch {
    return '\uFFFD';
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
  if (isOpenHere(path)) throw new FormatError('It is open in this process, as its database is: no traces are in it.');
  return await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw unreadable(error);
  });
}

/** Turns an error of the system into a FormatError: this file is refused, and the others are still read. */
function unreadable(error: unknown): unknown {
  const isOfSystem = error instanceof Error && 'syscall' in error;
  return isOfSystem ? new FormatError(reasonOf(error), { cause: error }) : error;
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return code === 'ENOENT' ? 'There is no such file.' : `It cannot be read (${code}).`;
}
