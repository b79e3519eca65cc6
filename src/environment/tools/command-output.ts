import { stripVTControlCharacters } from 'node:util';
import type { JsonObject } from '../../contract/json.ts';
import { asFinished, type ToolResult } from '../authoring/tool-result.ts';

/** Default limit of a command in milliseconds, and the longest that an agent may ask for. */
export const COMMAND_MS = 120_000;
export const LONGEST_COMMAND_MS = 600_000;
/** Bytes of a command's output that an agent sees: half of the beginning and half of the end. */
export const SHOWN_BYTES = 30_000;

/** The result of a command in the one form that all tools give as `structuredContent`. */
export interface CommandOutput {
  /** Null if the command did not end. */
  readonly exitCode: number | null;
  /** Standard output and standard error, as they came. */
  readonly output: string;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly omittedBytes: number;
  readonly timedOut: boolean;
  readonly durationMs: number;
  /** The process that goes on, of `exec_command`. */
  readonly sessionId?: number;
  /** Process ids of programs that the command left running. */
  readonly background?: readonly number[];
  /** Sentences of the tool itself, such as that the shell was restarted. They stand at the end of the text. */
  readonly notes: readonly string[];
}

/**
 * The text that an agent reads: the output, `(no output)` for none, the exit code if it is not 0, and notes. A command
 * that fails is an observation and no error of the tool; only a tool that could not do its work sets `isError`.
 */
export function toCommandResult(command: CommandOutput): ToolResult {
  const { exitCode, output, notes, timedOut } = command;
  const plain = stripVTControlCharacters(output).replace(/\n$/, '');
  const lines = [plain === '' ? '(no output)' : plain];
  if (exitCode !== null && exitCode !== 0) lines.push(`[exit code ${exitCode}]`);
  return asFinished({
    content: [{ type: 'text', text: [...lines, ...notes].join('\n') }],
    structuredContent: toStructured(command),
    ...(timedOut && { isError: true }),
  });
}

export function toStructured(command: CommandOutput): JsonObject {
  const { stdout, stderr, sessionId, background } = command;
  return {
    exit_code: command.exitCode,
    output: command.output,
    ...(stdout !== undefined && { stdout }),
    ...(stderr !== undefined && { stderr }),
    truncated: command.omittedBytes > 0,
    omitted_bytes: command.omittedBytes,
    timed_out: command.timedOut,
    ...(sessionId !== undefined && { session_id: sessionId }),
    ...(background !== undefined && { background: [...background] }),
    duration_ms: command.durationMs,
    notes: [...command.notes],
  };
}
