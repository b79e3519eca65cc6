import { isJsonObject } from '../../../contract/json.ts';
import { describeIssue } from '../describe-issue.ts';
import type { ImportLimits } from '../import-limits.ts';
import { FormatError, type ImportedTrace, type ReadContext } from '../imported-trace.ts';
import { parseJson } from '../parse-json.ts';
import { loseOthers } from '../unknown-fields.ts';
import type { ZipReader } from '../zip-reader.ts';
import { readSample } from './read-sample.ts';
import { headerSchema, type InspectHeader } from './shapes.ts';

/**
 * The newest version of a log in one document. The header of `.eval` is not checked; Inspect does not check it either.
 */
const MAX_VERSION = 2;

export function isInspectLog(given: unknown): boolean {
  return isJsonObject(given) && isJsonObject(given.eval) && 'version' in given;
}

/** Traces of a log in one document. @throws FormatError for an invalid log, or one without samples. */
export function* readJsonLog(given: unknown, context: ReadContext, limits: ImportLimits): Generator<ImportedTrace> {
  const header = readHeader(given);
  const { version } = header;
  if (typeof version === 'number' && version > MAX_VERSION) {
    throw new FormatError(`It is an Inspect log of version ${version}; those up to ${MAX_VERSION} are read.`);
  }
  const samples = isJsonObject(given) ? given.samples : undefined;
  if (!Array.isArray(samples) || samples.length === 0) throw noSamples();
  refuseCount(samples.length, limits);
  loseHeader(given, context);
  for (const sample of samples) yield readSample(sample, header, context);
}

/** Traces of a `.eval` file, read member by member. */
export async function* readEvalLog(
  zip: ZipReader,
  context: ReadContext,
  limits: ImportLimits,
): AsyncGenerator<ImportedTrace> {
  const headerName = zip.has('header.json') ? 'header.json' : '_journal/start.json';
  if (!zip.has(headerName)) throw new FormatError('The zip is no Inspect log: it has no header.json.');
  const given = parseJson(await zip.read(headerName), limits, headerName);
  const header = readHeader(given);
  loseHeader(given, context);
  const members = zip.names.filter((name) => name.startsWith('samples/') && name.endsWith('.json'));
  const whole = members.filter((name) => !CHUNK.test(name));
  const chunked = members.filter((name) => name.endsWith('/sample.json'));
  if (whole.length + chunked.length === 0) throw noSamples();
  refuseCount(whole.length + chunked.length, limits);
  for (const name of whole) yield readSample(parseJson(await zip.read(name), limits, name), header, context);
  for (const name of chunked) yield readSample(await readChunks(zip, name, members, limits), header, context);
}

/** `samples/<id>_epoch_<n>/…` is a part of a large sample. */
const CHUNK = /_epoch_\d+\/(?:sample|metadata|skeleton|(?:messages|events|calls|attachments)\/[^/]+)\.json$/;

/**
 * Reads a large sample from its parts: its fields, its metadata, and pieces of lists. The number in the name of a piece
 * is its first index.
 */
async function readChunks(
  zip: ZipReader,
  name: string,
  members: readonly string[],
  limits: ImportLimits,
): Promise<unknown> {
  const folder = name.slice(0, -'sample.json'.length);
  const read = async (member: string) => parseJson(await zip.read(member), limits, member);
  const sample = await read(name);
  if (!isJsonObject(sample)) throw new FormatError(`${name} is no sample.`);
  const metadata = zip.has(`${folder}metadata.json`) ? { metadata: await read(`${folder}metadata.json`) } : {};
  const lists: Record<string, unknown> = {};
  for (const kind of ['messages', 'events']) {
    const items = await readList(`${folder}${kind}/`, members, read);
    if (items.length > 0) lists[kind] = items;
  }
  const attachments = await readList(`${folder}attachments/`, members, read);
  const named = Object.fromEntries(attachments.map((text, index) => [String(index), text]));
  return { ...sample, ...metadata, ...lists, ...(attachments.length === 0 ? {} : { attachments: named }) };
}

async function readList(
  folder: string,
  members: readonly string[],
  read: (member: string) => Promise<unknown>,
): Promise<unknown[]> {
  const starts = members
    .filter((member) => member.startsWith(folder))
    .map((member) => ({ member, start: Number(member.slice(folder.length, -'.json'.length)) }))
    .filter(({ start }) => Number.isSafeInteger(start))
    .sort((one, other) => one.start - other.start);
  const items: unknown[] = [];
  for (const { member } of starts) {
    const chunk = await read(member);
    if (Array.isArray(chunk)) for (const item of chunk) items.push(item);
  }
  return items;
}

function readHeader(given: unknown): InspectHeader {
  const parsed = headerSchema.safeParse(given);
  if (!parsed.success) throw new FormatError(describeIssue(parsed.error));
  return parsed.data;
}

function loseHeader(given: unknown, { losses }: ReadContext): void {
  loseOthers(given, ['version', 'status', 'eval', 'samples', 'results', 'stats'], '', losses);
  const spec = isJsonObject(given) ? given.eval : undefined;
  loseOthers(spec, ['eval_id', 'created', 'task', 'task_args', 'model'], 'eval', losses);
}

function refuseCount(count: number, limits: ImportLimits): void {
  if (count > limits.samples) throw new FormatError(`It has ${count} samples; at most ${limits.samples} are read.`);
}

function noSamples(): FormatError {
  return new FormatError('The log has no samples: it was written without them, or its run ended before the first.');
}
