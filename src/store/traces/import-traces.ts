import { createHash } from 'node:crypto';
import { isJsonObject, type Json } from '../../contract/json.ts';
import type { EventBody } from '../../contract/service/event.ts';
import type { Redactor } from '../../support/redaction/redactor.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import { isReferenceBroken } from '../database/is-reference-broken.ts';
import type { ImportedTrace } from '../formats/imported-trace.ts';
import { type TimedEvent, toImportedEvents } from './imported-events.ts';
import { redactBytes, redactEvent } from './redact-event.ts';
import { BLOB_PREFIX, replaceBytes } from './rows/blob-references.ts';
import { insertBlob } from './rows/blob-rows.ts';
import { EndRows } from './rows/end-rows.ts';
import { type EncodedEvent, EventWriter, encodeEvent, type NumberedRequest, toEvents } from './rows/event-rows.ts';
import { TraceProjection } from './rows/projection.ts';
import { insertTraceRows, type NewTraceRow } from './rows/trace-rows.ts';

export interface TraceToImport {
  readonly traceId: string;
  readonly trace: ImportedTrace;
}

export interface ImportOptions {
  readonly account: string;
  readonly redactor: Redactor;
  /** Milliseconds since 1970. Default: the clock. */
  readonly now?: () => number;
}

/** A trace from its `run.queued` to its `run.finished`. */
export interface WholeTrace {
  readonly traceId: string;
  readonly events: readonly TimedEvent[];
}

/**
 * Number of tries when another process removes a blob that is about to be referred to. That is very rare, and the next
 * try writes the blob again.
 */
const MAX_TRIES = 3;

/**
 * Id of an imported trace: a hash of its content, so that a repeated import finds it, and of its number among equal
 * traces. The hash ignores the order of fields, so that a trace has the same id in every format that holds it
 * completely.
 *
 * @param count number of equal traces before it.
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

/** Writes traces from files in one transaction. Existing traces stay unchanged. @returns the number of new traces. */
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

/** Writes finished traces in one transaction. Existing traces stay unchanged. @returns the number of new traces. */
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

interface ImportRow {
  readonly row: NewTraceRow;
  readonly first: EncodedEvent;
  readonly requests: readonly NumberedRequest[];
  readonly blobs: readonly { readonly sha256: string; readonly mimeType: string; readonly bytes: Uint8Array }[];
  readonly finishedAt: number;
}

async function prepare(
  { traceId, events }: WholeTrace,
  { account, redactor }: Omit<ImportOptions, 'now'>,
): Promise<ImportRow> {
  const blobs = new Map<string, ImportRow['blobs'][number]>();
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

/** Moves large bytes of an event into blobs. Results, messages and inputs may have bytes; all of them are JSON. */
async function toStored(body: TimedEvent['body'], put: (bytes: Uint8Array, mimeType: string) => Promise<string>) {
  return (await replaceBytes(body as unknown as Json, put)) as unknown as EventBody;
}

async function insertNew(
  database: Database,
  transaction: DatabaseTransaction,
  prepared: readonly ImportRow[],
): Promise<number> {
  const ids = prepared.map(({ row }) => row.traceId);
  if (ids.length === 0) return 0;
  const known = await transaction.selectFrom('traces').select('trace_id').where('trace_id', 'in', ids).execute();
  const taken = new Set(known.map(({ trace_id }) => trace_id));
  const fresh = prepared.filter(({ row }) => !taken.has(row.traceId));
  if (fresh.length === 0) return 0;
  const rows = fresh.map(({ row }) => row);
  // A trace that was deleted earlier has left an outcome row. It is not counted any more.
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

/** Replaces zero characters and halves of surrogate pairs, which columns cannot hold but texts of files may. */
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
