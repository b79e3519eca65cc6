import type { JsonObject } from '../contract/json.ts';
import type { Trace } from '../contract/trace.ts';
import type { Losses } from './losses.ts';

/** Formats that traces are exported in, by the name that the command and the route take. */
export const EXPORT_FORMATS = ['jsonl', 'atif', 'inspect', 'verifiers', 'openai', 'openai-dpo', 'trl'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** True for a format that has lines of completed runs alone: those that are trained on. */
export function isOfCompleted(format: string): boolean {
  return format === 'openai' || format === 'trl';
}

/** Bytes of a trace: base64, or a reference `svc-blob://sha256/<hex>`. */
export interface TraceBytes {
  readonly mimeType: string;
  readonly data: string;
}

/** Tools of a writer beside the trace. */
export interface WriteContext {
  /** Takes note of every field that the format cannot hold. */
  readonly losses: Losses;
  /**
   * The address that the file names bytes by: a `data:` URL, a path beside the file, or the address of a blob.
   * Undefined where they are gone; the writer then notes a loss. Never `svc-blob://`.
   */
  addressOf(bytes: TraceBytes): string | undefined;
}

/** A format with a line, or a document, for each trace. */
export interface LineFormat {
  readonly name: ExportFormat | 'axolotl' | 'llama-factory';
  /** Undefined where the format has no place for the trace at all; `losses` then has an entry for `trace`. */
  toLine(trace: Trace, context: WriteContext): JsonObject | undefined;
}

/** A format with a line for two traces of one task. */
export interface PairFormat {
  readonly name: 'openai-dpo';
  /** Undefined where the two have no turn at which they part. */
  toPairLine(preferred: Trace, other: Trace, context: WriteContext): JsonObject | undefined;
}
