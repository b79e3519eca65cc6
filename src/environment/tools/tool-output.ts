import type { JsonObject } from '../../contract/json.ts';
import { asFinished, ToolError, type ToolResult } from '../authoring/tool-result.ts';
import type { ExecResult } from '../sandbox/exec.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';

/** Characters of output that an agent sees of one call: half of the beginning, half of the end. */
export const MAX_SHOWN_OUTPUT = 30_000;
/** Limit of a command without one of its own, and the largest that a call may ask for. */
export const COMMAND_MS = 120_000;
export const MAX_COMMAND_MS = 600_000;

export const MEMORY_TEXT =
  '[The sandbox ran out of memory, and the kernel ended a process. Use less memory: the limit stays.]';

/** One form of `structuredContent` for all tools that run commands. */
export interface CommandOutput {
  /** Null if the command was ended before it gave one, or still runs. */
  readonly exitCode: number | null;
  readonly output: string;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly truncated: boolean;
  readonly omittedBytes: number;
  readonly timedOut: boolean;
  readonly outOfMemory: boolean;
  readonly durationMs: number;
  readonly sessionId?: number;
  /** Process ids of jobs that the shell still has in the background. */
  readonly background?: readonly number[];
}

export function toStructured(result: CommandOutput): JsonObject {
  const { stdout, stderr, sessionId, background } = result;
  return {
    exit_code: result.exitCode,
    ...(stdout === undefined ? {} : { stdout }),
    ...(stderr === undefined ? {} : { stderr }),
    output: result.output,
    truncated: result.truncated,
    omitted_bytes: result.omittedBytes,
    timed_out: result.timedOut,
    out_of_memory: result.outOfMemory,
    ...(sessionId === undefined ? {} : { session_id: sessionId }),
    ...(background === undefined ? {} : { background: [...background] }),
    duration_ms: result.durationMs,
  };
}

/** The output of one exec, whose command has standard error in its standard output. */
export function toCommandOutput(result: ExecResult): CommandOutput {
  const { exitCode, stdout, stderr, truncated, omittedBytes, timedOut, outOfMemory, durationMs } = result;
  const output = stderr === '' ? stdout : `${stdout}${stdout === '' || stdout.endsWith('\n') ? '' : '\n'}${stderr}`;
  const code = timedOut ? null : exitCode;
  return { exitCode: code, output, truncated, omittedBytes, timedOut, outOfMemory, durationMs };
}

/** Text of a command's end, as agents know it: a silent success gets a sentence, and only a failure its exit code. */
export function describeOutput({ output, exitCode, outOfMemory }: CommandOutput): string {
  const lines = [output.replace(/\n$/, '')].filter((text) => text !== '');
  if (outOfMemory) lines.push(MEMORY_TEXT);
  if (exitCode !== null && exitCode !== 0) lines.push(`[exit code ${exitCode}]`);
  return lines.length === 0 ? '(no output)' : lines.join('\n');
}

/** A result with a text for the agent, and data beside it. */
export function textResult(text: string, structuredContent?: JsonObject): ToolResult {
  const content = text === '' ? [] : [{ type: 'text', text } as const];
  return asFinished({ content, ...(structuredContent === undefined ? {} : { structuredContent }) });
}

/** The result of a command. A failing command is an observation; one that ran out of time is a failure of the tool. */
export function commandResult(result: CommandOutput, text = describeOutput(result)): ToolResult {
  if (result.timedOut) throw new ToolError(text, { structuredContent: toStructured(result) });
  return textResult(text, toStructured(result));
}

/** Words for a command that was ended at its limit. */
export function timeoutText(output: string, timeoutMs: number, consequence: string): string {
  const sentence = `timed out: the command has not returned in ${timeoutMs / 1000} seconds. ${consequence}`;
  return output === '' ? sentence : `${output.replace(/\n$/, '')}\n${sentence}`;
}

/** True if the kernel has ended a process for want of memory since the last command that was asked about. */
export async function ranOutOfMemory(sandbox: Sandbox): Promise<boolean> {
  return (await sandbox.memoryFault()) !== undefined;
}

/** Exit codes after which a lack of memory is worth asking for: SIGKILL, directly or through a parent, and SIGTERM. */
export function mayLackMemory(exitCode: number | null): boolean {
  return exitCode === null || exitCode === 137 || exitCode === 143;
}
