import type { TraceListQuery } from '../../../client/service-client.ts';
import { ApiError } from '../../../contract/errors.ts';
import { isEnded } from '../../../contract/service/ended.ts';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import { didYouMean } from '../../../support/text/did-you-mean.ts';
import { UsageError } from '../../base/failure.ts';
import type { TraceSource } from './trace-source.ts';

/** Ids of evaluations, as `proctor eval` prints them. */
const EVALUATION_ID = /^eval_/;
const MAX_NAMED = 5;
/** Most characters of a model's name in a message. */
const MAX_CHARACTERS = 100;

/** Traces to export: named ones, or all that match the filters. */
export interface Selection {
  /** Trace ids and ids of evaluations. */
  readonly named: readonly string[];
  /** Filters. If traces are named, only the model is used. */
  readonly filters: TraceListQuery;
}

/**
 * Lists the ids of the traces and calls `onTrace` once for each summary.
 *
 * @throws ApiError run_running for a trace that has not ended; trace_not_found and evaluation_not_found.
 */
export async function selectTraces(
  source: TraceSource,
  { named, filters }: Selection,
  onTrace: (trace: TraceSummary) => void,
): Promise<readonly string[]> {
  if (named.length === 0 && Object.keys(filters).length === 0) {
    throw new UsageError('Say which traces: trace ids, ids of evaluations, or filters such as --env counter.');
  }
  const { model, ...others } = filters;
  if (named.length > 0 && Object.keys(others).length > 0) {
    throw new UsageError(
      'Name traces and evaluations, or filter all traces: not both. Only --model goes with names too.',
    );
  }
  const ids = new Set<string>();
  const running: string[] = [];
  const models = new Set<string>();
  const take = (trace: TraceSummary) => {
    if (ids.has(trace.trace_id)) return;
    models.add(trace.model);
    if (model !== undefined && trace.model !== model) return;
    if (isEnded(trace.status)) {
      ids.add(trace.trace_id);
      onTrace(trace);
    } else running.push(trace.trace_id);
  };
  if (named.length === 0) await takeAll(source, filters, take);
  for (const name of named) {
    if (EVALUATION_ID.test(name)) await takeEvaluation(source, name, take);
    else take(await source.summary(name));
  }
  if (running.length > 0) throw stillRunning(running);
  if (named.length > 0 && model !== undefined && ids.size === 0) throw withoutModel(model, [...models].sort());
  return [...ids];
}

/** Takes the traces of an evaluation. Of an attempt that was rerun only the last run counts. */
async function takeEvaluation(source: TraceSource, id: string, take: (trace: TraceSummary) => void): Promise<void> {
  const count = await takeAll(source, { evaluation_id: id }, (trace) => {
    if (!trace.superseded) take(trace);
  });
  if (count > 0) return;
  throw new ApiError(
    'evaluation_not_found',
    `No trace is of ${JSON.stringify(id)}: "proctor eval list" shows those that there are.`,
  );
}

/** Newest first, like lists. @returns the number of traces. */
async function takeAll(
  source: TraceSource,
  filters: TraceListQuery,
  take: (trace: TraceSummary) => void,
): Promise<number> {
  let count = 0;
  for await (const trace of source.list(filters)) {
    take(trace);
    count += 1;
  }
  return count;
}

function withoutModel(model: string, models: readonly string[]): UsageError {
  return new UsageError(
    `None of these traces is of the model ${JSON.stringify(model.slice(0, MAX_CHARACTERS))}.${didYouMean(model, models)} Their models: ${listModels(models)}.`,
  );
}

/** The first models as text for a message. */
export function listModels(models: readonly string[]): string {
  const more = models.length > MAX_NAMED ? ` and ${models.length - MAX_NAMED} more` : '';
  return `${models.slice(0, MAX_NAMED).join(', ')}${more}`;
}

function stillRunning(ids: readonly string[]): ApiError {
  const shown = ids.slice(0, MAX_NAMED).join(', ');
  const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : '';
  const way = 'wait for their end, or leave them out with --status completed';
  return new ApiError('run_running', `A run has to end before it is exported: ${shown}${more}; ${way}.`);
}
