import type { ContentBlock, Usage } from '../contract/chat.ts';
import { isJsonObject } from '../contract/json.ts';
import type { ReplayResult } from '../contract/replay.ts';
import type { Step, ToolResultRecord, Trace } from '../contract/trace.ts';
import type { TraceBytes } from './format.ts';
import type { Losses } from './losses.ts';

/** Fields that the store gives to a trace, and those of the machinery that ran it. */
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

/** A trace as a file has it: everything but its ids, attempts, logs and later grades. It has ended. */
export interface ImportedTrace extends Omit<Trace, OwnField> {
  /** Absent: the model's own name. */
  readonly model_target?: string;
  /** How it compared to the trace that it replayed; absent where it is no replay. */
  readonly replay?: ReplayResult;
  /** ISO 8601; null where the file does not say it. */
  readonly created_at: string | null;
  /** False: what was submitted is not of the scenario's answer schema. */
  readonly answer_fits: boolean;
}

/** Choices of whoever imports. */
export interface ReadOptions {
  /** Names of the environment and the scenario, in place of those that the file gives. */
  readonly envName?: string | undefined;
  readonly scenarioName?: string | undefined;
  /** The scorer whose value is the reward, where a file has several. Default: the first. */
  readonly score?: string | undefined;
}

export interface ReadContext {
  readonly options: ReadOptions;
  readonly losses: Losses;
  /** Bytes at a `data:` URL or at a path beneath the folder of the file; undefined for everything else. */
  bytesAt(address: string): TraceBytes | undefined;
}

/** A file, or a part of it, that is not of its format. The message says what was wrong and what would be right. */
export class FormatError extends Error {
  override readonly name = 'FormatError';
}

export const NO_USAGE: Usage = {
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  cached_tokens: 0,
  reasoning_tokens: 0,
  cost_usd: null,
};

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

/** The first call of the step with this id that has no result yet: a model may give two calls one id. */
export function openCall(step: Pick<Step, 'message' | 'tool_results'>, id: string) {
  const answered = step.tool_results.filter(({ tool_call_id }) => tool_call_id === id).length;
  return step.message.tool_calls.filter((call) => call.id === id)[answered];
}

/** The result of a call, as a file that tells only its content has it. */
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

/** Arguments as a model sent them: an object, or the text of one. */
export function toArguments(given: unknown): Pick<ToolResultRecord, 'arguments' | 'raw_arguments'> {
  if (isJsonObject(given)) return { arguments: given, raw_arguments: null };
  if (given === null || given === undefined || given === '') return { arguments: {}, raw_arguments: null };
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  try {
    const parsed: unknown = JSON.parse(text);
    if (isJsonObject(parsed)) return { arguments: parsed, raw_arguments: null };
  } catch {
    // It is kept as it was sent.
  }
  return { arguments: {}, raw_arguments: text };
}

/** A time as traces have it; undefined for what is none. */
export function toTime(given: unknown): string | undefined {
  if (typeof given !== 'string' && typeof given !== 'number') return undefined;
  const date = new Date(given);
  const year = date.getUTCFullYear();
  return Number.isNaN(date.getTime()) || year < 1970 || year > 9999 ? undefined : date.toISOString();
}

/** A count of a file: never negative, never a fraction. */
export function toCount(given: unknown): number {
  const number = typeof given === 'number' && Number.isFinite(given) ? Math.round(given) : 0;
  return Math.min(Math.max(0, number), Number.MAX_SAFE_INTEGER);
}
