import { isJsonObject, type JsonObject } from '../../contract/json.ts';
import { type Trace, traceSchema } from '../../contract/service/trace.ts';
import { parseDataUrl, refersToBytes, toDataUrl, withAddresses, withBytes } from './addresses.ts';
import { describeIssue } from './describe-issue.ts';
import { loseRelations } from './extension.ts';
import type { LineFormat, WriteContext } from './format.ts';
import { FormatError, type ImportedTrace, type ReadContext } from './imported-trace.ts';
import { jsonOf } from './json-of.ts';

/**
 * Proctor's own format: one trace per line, as `GET /v1/traces/{trace_id}` returns it, with its bytes inline. Nothing
 * is lost.
 */
export const jsonlFormat: LineFormat = {
  name: 'jsonl',
  toLine: (trace, context) => jsonOf(refersToBytes(trace) ? withInlineBytes(trace, context) : trace),
};

function withInlineBytes(trace: Trace, context: WriteContext): Trace {
  const addressed = withAddresses(trace, 'content', { ...context, addressOf: (bytes) => urlOf(bytes, context) });
  return withBytes(addressed, parseDataUrl);
}

/** Most bytes are inline already. */
function urlOf(bytes: Parameters<WriteContext['addressOf']>[0], context: WriteContext): string | undefined {
  return bytes.data.startsWith('svc-blob:') ? context.addressOf(bytes) : toDataUrl(bytes);
}

export function isOwnTrace(given: unknown): boolean {
  return isJsonObject(given) && given.object === 'trace' && Array.isArray(given.steps);
}

/** @throws FormatError for an invalid trace, another version, or an unfinished trace. */
export function readOwnTrace(given: unknown, { options, losses }: ReadContext): ImportedTrace {
  const version = isJsonObject(given) ? given.version : undefined;
  if (version !== 1) throw new FormatError(`version is ${JSON.stringify(version)}; traces of version 1 are read.`);
  const parsed = traceSchema.safeParse(withDefaults(given));
  if (!parsed.success) throw new FormatError(describeIssue(parsed.error));
  const trace = parsed.data;
  if (trace.status === 'queued' || trace.status === 'running') {
    throw new FormatError(`The run of trace ${trace.trace_id} is ${trace.status}: export it when it has ended.`);
  }
  losses.add('attempts', 'the attempts before the last one stay where it was run', trace.attempts.length - 1);
  losses.add('logs', 'logs are not read', trace.logs.length);
  loseRelations(trace, losses);
  return {
    ...toImported(trace),
    env_name: options.envName ?? trace.env_name,
    scenario_name: options.scenarioName ?? trace.scenario_name,
  };
}

/** Removes the ids, and the relations to the trace's original store. */
function toImported(trace: Trace): ImportedTrace {
  const { object: _o, version: _v, trace_id: _id, trace_url: _url, origin: _origin, outcome, ...own } = trace;
  const { evaluation_id: _e, rerun: _r, superseded: _s, attempt: _a, attempts: _all, logs: _logs, ...shown } = own;
  const { parent: _parent, grades: _grades, replay, model_target: target, ...rest } = shown;
  return {
    ...rest,
    ...(target === rest.model ? {} : { model_target: target }),
    ...(replay === null ? {} : { replay }),
    answer_fits: !(outcome === 'agent_error' && rest.error?.boundary !== 'agent'),
  };
}

/** Adds defaults for fields that earlier versions did not have. */
function withDefaults(given: unknown): JsonObject {
  const fields = isJsonObject(given) ? given : {};
  const none = { outcome: null, evaluation_id: null, task_id: null, attempt_index: null, rerun: 0, superseded: false };
  const repeated = { parent: null, replay: null, grades: [], model_target: fields.model ?? '' };
  return { ...none, ...repeated, ...fields };
}
