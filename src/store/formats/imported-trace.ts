import type { ContentBlock } from '../../contract/chat.ts';
import { isJsonObject } from '../../contract/json.ts';
import type { ReplayResult } from '../../contract/service/replay.ts';
import type { Step, ToolResultRecord, Trace } from '../../contract/service/trace.ts';
import type { TraceBytes } from './format.ts';
import type { Losses } from './losses.ts';

/** Fields that the store or the workers fill in. */
type OwnField =
  | 'object'
  | 'version'
  | 'trace_id'
  | 'trace_url'
  | 'origin'
  | 'outcome'
  | 'evaluation_id'
  | 'rerun'
  | 'superseded'
  | 'attempt'
  | 'attempts'
  | 'logs'
  | 'model_target'
  | 'parent'
  | 'replay'
  | 'grades'
  | 'created_at';

/** A finished trace from a file: everything except its ids, attempts, logs and later grades. */
export interface ImportedTrace extends Omit<Trace, OwnField> {
  /** Absent when it equals `model`. */
  readonly model_target?: string;
  /** Comparison with the replayed trace; absent when the trace is not a replay. */
  readonly replay?: ReplayResult;
  /** ISO 8601; null when the file has no time. */
  readonly created_at: string | null;
  /** False when the answer does not match the scenario's answer schema. */
  readonly answer_fits: boolean;
}

/** Options of an import. */
export interface ReadOptions {
  /** Names of the environment and the scenario. They override those in the file. */
  readonly envName?: string | undefined;
  readonly scenarioName?: string | undefined;
  /** The scorer whose value becomes the reward, when a file has several. Default: the first. */
  readonly score?: string | undefined;
}

export interface ReadContext {
  readonly options: ReadOptions;
  readonly losses: Losses;
  /** Bytes at a `data:` URL or at a path in the folder of the file; undefined for any other address. */
  bytesAt(address: string): TraceBytes | undefined;
}

/**
 * The error for a file, or a part of it, with an invalid format. The message says what is wrong and what is expected.
 */
export class FormatError extends Error {
  override readonly name = 'FormatError';
}

export const UNKNOWN_VERSIONS: Trace['versions'] = {
  proctor: '',
  environment: null,
  environment_hash: null,
  protocol: null,
  node: '',
};

export const NO_TIMING: Trace['timing'] = {
  queued_ms: 0,
  environment_ms: 0,
  setup_ms: 0,
  model_ms: 0,
  tool_ms: 0,
  evaluate_ms: 0,
  total_ms: 0,
};

/** The first call of the step with this id and without a result. A model may give two calls the same id. */
export function openCall(step: Pick<Step, 'message' | 'tool_results'>, id: string) {
  const answered = step.tool_results.filter(({ tool_call_id }) => tool_call_id === id).length;
  return step.message.tool_calls.filter((call) => call.id === id)[answered];
}

/** A result built from its content, for files that hold nothing else of it. */
export function toResult(
  call: { readonly id: string; readonly name: string; readonly arguments?: ToolResultRecord['arguments'] },
  content: readonly ContentBlock[],
  more: Partial<ToolResultRecord> = {},
): ToolResultRecord {
  return {
    tool_call_id: call.id,
    name: call.name,
    arguments: call.arguments ?? {},
    raw_arguments: null,
    content: [...content],
    structured_content: null,
    is_error: false,
    duration_ms: 0,
    ...more,
  };
}

/** Arguments of a model: an object, or the text of one. */
export function toArguments(given: unknown): Pick<ToolResultRecord, 'arguments' | 'raw_arguments'> {
  if (isJsonObject(given)) return { arguments: given, raw_arguments: null };
  if (given === null || given === undefined || given === '') return { arguments: {}, raw_arguments: null };
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  try {
    const parsed: unknown = JSON.parse(text);
    if (isJsonObject(parsed)) return { arguments: parsed, raw_arguments: null };
  } catch {
    // The text is kept unchanged.
  }
  return { arguments: {}, raw_arguments: text };
}

/** A time in the form that traces use; undefined for an invalid one. */
export function toTime(given: unknown): string | undefined {
  if (typeof given !== 'string' && typeof given !== 'number') return undefined;
  const date = new Date(given);
  const year = date.getUTCFullYear();
  return Number.isNaN(date.getTime()) || year < 1970 || year > 9999 ? undefined : date.toISOString();
}

/** A count of a file, rounded and never negative. */
export function toCount(given: unknown): number {
  const number = typeof given === 'number' && Number.isFinite(given) ? Math.round(given) : 0;
  return Math.min(Math.max(0, number), Number.MAX_SAFE_INTEGER);
}
