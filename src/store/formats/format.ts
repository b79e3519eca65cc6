import type { JsonObject } from '../../contract/json.ts';
import type { Trace } from '../../contract/service/trace.ts';
import type { Losses } from './losses.ts';

/** Export formats, under the names that the command and the route accept. */
export const EXPORT_FORMATS = ['jsonl', 'atif', 'inspect', 'verifiers', 'openai', 'openai-dpo', 'trl'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** True for a training format. Such a format has lines of completed runs only. */
export function isOfCompleted(format: string): boolean {
  return format === 'openai' || format === 'trl';
}

/** Bytes of a trace: base64, or a reference `svc-blob://sha256/<hex>`. */
export interface TraceBytes {
  readonly mimeType: string;
  readonly data: string;
}

/** Helpers of a writer. */
export interface WriteContext {
  /** Counts every field that the format cannot hold. */
  readonly losses: Losses;
  /**
   * The address of bytes in the file: a `data:` URL, a path beside the file, or the address of a blob. Undefined when
   * the bytes are gone; the writer then notes a loss. Never `svc-blob://`.
   */
  addressOf(bytes: TraceBytes): string | undefined;
}

/** A format with one line or document for each trace. */
export interface LineFormat {
  readonly name: ExportFormat | 'axolotl' | 'llama-factory';
  /** Undefined when the format cannot hold the trace at all. `losses` then has an entry for `trace`. */
  toLine(trace: Trace, context: WriteContext): JsonObject | undefined;
}

/** A format with one line for two traces of a task. */
export interface PairFormat {
  readonly name: 'openai-dpo';
  /** Undefined when the two traces never differ in a turn. */
  toPairLine(preferred: Trace, other: Trace, context: WriteContext): JsonObject | undefined;
}
