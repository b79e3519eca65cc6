import { createHash } from 'node:crypto';
import type { EventBody } from '../contract/event.ts';
import { isJsonObject, type Json } from '../contract/json.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import { isReferenceBroken } from '../database/is-reference-broken.ts';
import type { ImportedTrace } from '../formats/imported-trace.ts';
import type { Redactor } from '../redaction/redactor.ts';
import { BLOB_PREFIX, replaceBytes } from './blob-references.ts';
import { insertBlob } from './blob-rows.ts';
import { EndRows } from './end-rows.ts';
import { type EncodedEvent, EventWriter, encodeEvent, type NumberedRequest, toEvents } from './event-rows.ts';
import { type TimedEvent, toImportedEvents } from './imported-events.ts';
import { TraceProjection } from './projection.ts';
import { redactBytes, redactEvent } from './redact-event.ts';
import { insertTraceRows, type NewTraceRow } from './trace-rows.ts';

export interface TraceToImport {
  readonly traceId: string;
  readonly trace: ImportedTrace;
}

export interface ImportOptions {
  readonly account: string;
  readonly redactor: Redactor;
  /** Milliseconds since 1970; default the clock's. */
  readonly now?: () => number;
}

/** A trace from its `run.queued` to its `run.finished`. */
export interface WholeTrace {
  readonly traceId: string;
  readonly events: readonly TimedEvent[];
}

/** Another one removes a blob while it is referred to: very rare, and the next try writes it anew. */
const MAX_TRIES = 3;

/**
 * Id of a trace of a file: of its content, so that a repeated import finds it, and of its place among equal ones. Formats
 * tell the fields in orders of their own; a trace that two of them hold wholly has one id.
 *
 * @param count how many equal ones came before it.
 */
export function importedTraceId(account: string, trace: ImportedTrace, count: number): string {
  const text = JSON.stringify([account, trace, count], (_name, value: unknown) =>
    isJsonObject(value) ? Object.fromEntries(Object.entries(value).sort(byName)) : value,
  );
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}

/** Writes traces of files, in one transaction; those that are there stay as they are. @returns how many are new. */
export async function importTraces(
  database: Database,
  traces: readonly TraceToImport[],
  { now = Date.now, ...options }: ImportOptions,
): Promise<number> {
  const whole = traces.map(({ traceId, trace }) => ({
    traceId,
    events: toImportedEvents(withPlainNames(trace), now()),
  }));
  return await writeWholeTraces(database, whole, options);
}

/** Writes traces that have ended, in one transaction; those that are there stay as they are. @returns how many are new. */
export async function writeWholeTraces(
  database: Database,
  traces: readonly WholeTrace[],
  options: Omit<ImportOptions, 'now'>,
): Promise<number> {
  const prepared = await Promise.all(traces.map((each) => prepare(each, options)));
  for (let tries = 1; ; tries++) {
    try {
      return await database.transaction((transaction) => insertNew(database, transaction, prepared));
    } catch (error) {
      if (tries === MAX_TRIES || !isReferenceBroken(error)) throw error;
    }
  }
}

interface Prepared {
  readonly row: NewTraceRow;
  readonly first: EncodedEvent;
  readonly requests: readonly NumberedRequest[];
  readonly blobs: readonly { readonly sha256: string; readonly mimeType: string; readonly bytes: Uint8Array }[];
  readonly finishedAt: number;
}

async function prepare(
  { traceId, events }: WholeTrace,
  { account, redactor }: Omit<ImportOptions, 'now'>,
): Promise<Prepared> {
  const blobs = new Map<string, Prepared['blobs'][number]>();
  const put = async (given: Uint8Array, mimeType: string) => {
    const bytes = redactBytes(given, mimeType, redactor);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    blobs.set(sha256, { sha256, mimeType, bytes });
    return `${BLOB_PREFIX}${sha256}`;
  };
  const requests: NumberedRequest[] = [];
  let queued: Extract<EventBody, { type: 'run.queued' }> | undefined;
  for (const { at, body: given } of events) {
    const body = redactEvent(await toStored(given, put), redactor);
    if (body.type === 'run.queued') queued = body;
    requests.push({ request: { traceId, attempt: 1, at, events: [encodeEvent(body)] }, lastSeq: requests.length });
  }
  const [first, last] = [requests[0]?.request, requests.at(-1)?.request];
  const encoded = first?.events[0];
  if (queued === undefined || first === undefined || last === undefined || encoded === undefined) {
    throw new TypeError(`The trace ${traceId} has no events`);
  }
  const row = { traceId, account, keyId: null, createdAt: first.at, request: queued, shown: queued };
  return { row, first: encoded, requests, blobs: [...blobs.values()], finishedAt: last.at };
}

/** Events of results, messages and inputs have bytes; all of them are JSON. */
async function toStored(body: TimedEvent['body'], put: (bytes: Uint8Array, mimeType: string) => Promise<string>) {
  return (await replaceBytes(body as unknown as Json, put)) as unknown as EventBody;
}

async function insertNew(
  database: Database,
  transaction: DatabaseTransaction,
  prepared: readonly Prepared[],
): Promise<number> {
  const ids = prepared.map(({ row }) => row.traceId);
  if (ids.length === 0) return 0;
  const known = await transaction.selectFrom('traces').select('trace_id').where('trace_id', 'in', ids).execute();
  const taken = new Set(known.map(({ trace_id }) => trace_id));
  const fresh = prepared.filter(({ row }) => !taken.has(row.traceId));
  if (fresh.length === 0) return 0;
  const rows = fresh.map(({ row }) => row);
  // A deleted trace has left its outcome, which nothing counts.
  const freshIds = rows.map(({ traceId }) => traceId);
  await transaction.deleteFrom('outcomes').where('trace_id', 'in', freshIds).where('is_deleted', '=', 1).execute();
  await insertTraceRows(database, transaction, rows);
  for (const { row, blobs } of fresh) for (const blob of blobs) await insertBlob(transaction, row.traceId, blob);
  const ended = fresh.map(({ row, first, requests, finishedAt }) => {
    const projection = new TraceProjection({ traceId: row.traceId, traceUrl: '' });
    for (const { request, lastSeq } of requests) for (const event of toEvents(request, lastSeq)) projection.add(event);
    const owner = { account: row.account, key_id: null, created_at: row.createdAt };
    return { traceId: row.traceId, projection, owner, first: first.json, finishedAt };
  });
  const before = new EndRows(database).ends(ended);
  await new EventWriter(database).insert(
    fresh.flatMap(({ requests }) => requests),
    { before, transaction },
  );
  return fresh.length;
}

/** Columns of a database hold neither zero characters nor halves of pairs, which texts of files may have. */
function withPlainNames(trace: ImportedTrace): ImportedTrace {
  const plain = (text: string) => text.replaceAll(/[\0\p{Surrogate}]/gu, '\u{FFFD}');
  return {
    ...trace,
    env_name: plain(trace.env_name),
    scenario_name: plain(trace.scenario_name),
    model: plain(trace.model),
    task_id: trace.task_id === null ? null : plain(trace.task_id),
    metadata: Object.fromEntries(Object.entries(trace.metadata).map(([key, value]) => [plain(key), plain(value)])),
  };
}
