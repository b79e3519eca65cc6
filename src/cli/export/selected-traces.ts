import { ApiError } from '../../contract/errors.ts';
import { TRACE_ID_PATTERN } from '../../contract/names.ts';
import type { TraceSummary } from '../../contract/trace.ts';
import { isFinal } from '../../trace/trace-heads.ts';
import type { TraceQuery, TraceStore } from '../../trace/trace-store.ts';
import { UsageError } from '../failure.ts';

/** Ids of evaluations, as `proctor eval` prints them. */
const EVALUATION_ID = /^eval_/;
const PAGE = 100;
const MAX_NAMED = 5;

/** Traces to export: named, or all that fit the filters. */
export interface Selection {
  /** Trace ids and ids of evaluations. */
  readonly named: readonly string[];
  readonly filters: TraceQuery;
}

/**
 * Ids of the traces; each summary is shown to `onTrace` once.
 *
 * @throws ApiError run_running where one has not ended, trace_not_found and evaluation_not_found.
 */
export async function selectTraces(
  store: TraceStore,
  { named, filters }: Selection,
  onTrace: (trace: TraceSummary) => void,
): Promise<readonly string[]> {
  if (named.length === 0 && Object.keys(filters).length === 0) {
    throw new UsageError('Say which traces: trace ids, ids of evaluations, or filters such as --env counter.');
  }
  if (named.length > 0 && Object.keys(filters).length > 0) {
    throw new UsageError('Name traces and evaluations, or filter all traces: not both.');
  }
  const ids = new Set<string>();
  const running: string[] = [];
  const take = (trace: TraceSummary) => {
    if (ids.has(trace.trace_id)) return;
    if (isFinal(trace)) {
      ids.add(trace.trace_id);
      onTrace(trace);
    } else running.push(trace.trace_id);
  };
  if (named.length === 0) await takeAll(store, filters, take);
  for (const name of named) {
    if (EVALUATION_ID.test(name)) await takeEvaluation(store, name, take);
    else take(await findSummary(store, name));
  }
  if (running.length > 0) throw stillRunning(running);
  return [...ids];
}

/** An attempt that was run again stands in its evaluation by its last run. */
async function takeEvaluation(store: TraceStore, id: string, take: (trace: TraceSummary) => void): Promise<void> {
  const count = await takeAll(store, { evaluationId: id }, (trace) => {
    if (!trace.superseded) take(trace);
  });
  if (count > 0) return;
  throw new ApiError(
    'evaluation_not_found',
    `No trace is of ${JSON.stringify(id)}: "proctor eval list" shows those that there are.`,
  );
}

/** Newest first, as lists are. @returns how many. */
async function takeAll(store: TraceStore, filters: TraceQuery, take: (trace: TraceSummary) => void): Promise<number> {
  let cursor: string | null = null;
  let count = 0;
  do {
    const query: TraceQuery = { ...filters, limit: PAGE, ...(cursor === null ? {} : { cursor }) };
    const page = await store.list(query);
    for (const trace of page.data) take(trace);
    count += page.data.length;
    cursor = page.nextCursor;
  } while (cursor !== null);
  return count;
}

async function findSummary(store: TraceStore, id: string): Promise<TraceSummary> {
  const trace = TRACE_ID_PATTERN.test(id) ? await store.traceSummary(id) : undefined;
  if (trace !== undefined) return trace;
  throw new ApiError(
    'trace_not_found',
    `There is no trace ${JSON.stringify(id)}: "proctor traces list" shows those that there are.`,
  );
}

function stillRunning(ids: readonly string[]): ApiError {
  const shown = ids.slice(0, MAX_NAMED).join(', ');
  const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : '';
  const way = 'wait for their end, or leave them out with --status completed';
  return new ApiError('run_running', `A run has to end before it is exported: ${shown}${more}; ${way}.`);
}
