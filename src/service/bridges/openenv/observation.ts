import type { AgentTool } from '../../../contract/chat.ts';
import { readableText, textOfContent } from '../../../contract/content-text.ts';
import type { SetupResult } from '../../../contract/scenario.ts';
import type { ToolResult } from '../../../environment/client/environment-client.ts';
import type { CallOutcome, CallRefusal } from '../episode.ts';
import type { StepResult } from './messages.ts';

/** The result of a call. Clients read only `data` if it is set, so `data` always contains the text of the tool. */
export interface CallResult {
  readonly content: ToolResult['content'];
  readonly structured_content: ToolResult['structured_content'];
  readonly data: unknown;
  readonly is_error: boolean;
}

type ErrorType = 'execution_error' | 'invalid_args' | 'tool_not_found' | 'timeout';

/** Why a call has no result. */
export interface CallError {
  readonly error_type: ErrorType;
  readonly message: string;
}

/** Outcome of a call, independent of its transport. */
export type CallReply =
  | { readonly kind: 'answered'; readonly result: ToolResult }
  | { readonly kind: 'finished'; readonly result: ToolResult; readonly reward: number }
  | { readonly kind: 'failed'; readonly error: CallError; readonly isOver: boolean };

const ERROR_TYPES: Readonly<Record<CallRefusal, ErrorType>> = {
  tool_not_found: 'tool_not_found',
  invalid_args: 'invalid_args',
  over: 'execution_error',
  lost: 'execution_error',
};

/** Reports an error of a tool as an error of the call, as clients of the protocol expect it. */
export function toCallReply(outcome: CallOutcome): CallReply {
  if (outcome.kind === 'refused') {
    const { why, message } = outcome;
    return failed(ERROR_TYPES[why], message, why === 'over' || why === 'lost');
  }
  // The last call of an episode carries the reward, even if its tool failed.
  if (outcome.kind === 'finished' || !outcome.result.is_error) return outcome;
  return failed('execution_error', textOfContent(outcome.result.content));
}

export function failed(error_type: ErrorType, message: string, isOver = false): CallReply {
  return { kind: 'failed', error: { error_type, message }, isOver };
}

/** Builds the observation of `reset`: the prompt of the task. */
export function toFirstResult({ prompt, system }: SetupResult): StepResult {
  const text = prompt.map(({ content }) => readableText(content)).join('\n\n');
  return { observation: { prompt, system, text }, reward: null, done: false };
}

export function toToolsResult(tools: readonly AgentTool[], done: boolean): StepResult {
  return { observation: { tools: tools.map(toToolSpec) }, reward: null, done };
}

export function toStepResult(tool_name: string, reply: CallReply): StepResult {
  if (reply.kind === 'failed') {
    return { observation: { tool_name, result: null, error: reply.error }, reward: null, done: reply.isOver };
  }
  const isFinished = reply.kind === 'finished';
  return {
    observation: { tool_name, result: toCallResult(reply.result), error: null },
    reward: isFinished ? reply.reward : null,
    done: isFinished,
  };
}

export function toCallResult({ content, structured_content, is_error }: ToolResult): CallResult {
  const isText = content.every(({ type }) => type === 'text');
  const data = structured_content ?? (isText ? textOfContent(content) : content);
  return { content, structured_content, data, is_error };
}

/** A missing description becomes a text: with `null`, clients lose the whole list of tools. */
export function toToolSpec({ name, description, input_schema }: AgentTool) {
  return { name, description, input_schema };
}
