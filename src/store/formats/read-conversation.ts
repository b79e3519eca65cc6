import type { AssistantMessage, FinishReason, Usage } from '../../contract/chat.ts';
import type { Json } from '../../contract/json.ts';
import type { PromptMessage } from '../../contract/scenario.ts';
import type { Step, StepInput, Trace } from '../../contract/service/trace.ts';
import { NO_USAGE } from '../../models/dialects/model-output.ts';
import { openCall, toCount } from './imported-trace.ts';
import { isMain } from './is-main.ts';

/** A response in a file. Unknown fields are left out. */
export interface ReadStep {
  readonly message: Partial<Omit<AssistantMessage, 'role'>>;
  readonly usage?: Partial<Usage> | undefined;
  readonly finishReason?: FinishReason | undefined;
  readonly startedAt?: string | undefined;
  readonly modelMs?: number | undefined;
  readonly tokenIds?: Json;
  readonly logprobs?: Json;
  /** The side conversation of the response, and its messages before the response. */
  readonly branch?: { readonly name: string; readonly input: StepInput | undefined } | undefined;
}

/**
 * Collects the conversation of a foreign file. Messages before the first response form the first turn; a message after
 * a response begins the next turn.
 */
export class ReadConversation {
  system: string | null = null;
  readonly prompt: PromptMessage[] = [];
  readonly turns: { started_at: string | null; messages: PromptMessage[]; steps: number[] }[] = [];
  readonly steps: Step[] = [];

  say(message: PromptMessage, at: string | null = null): void {
    const last = this.turns.at(-1);
    if (last === undefined || last.steps.length > 0) this.turns.push({ started_at: at, messages: [], steps: [] });
    this.turns.at(-1)?.messages.push(message);
    if (this.turns.length === 1) this.prompt.push(message);
  }

  addStep({ message, usage = {}, finishReason, startedAt, modelMs = 0, tokenIds, logprobs, branch }: ReadStep): Step {
    if (this.turns.length === 0) this.turns.push({ started_at: startedAt ?? null, messages: [], steps: [] });
    const calls = message.tool_calls ?? [];
    const counted = { ...NO_USAGE, ...usage };
    const step: Step = {
      step: this.steps.length + 1,
      turn: this.turns.length,
      ...(branch === undefined ? {} : { branch: branch.name }),
      ...(branch?.input === undefined ? {} : { input: branch.input }),
      started_at: startedAt ?? '',
      model_ms: modelMs,
      message: { role: 'assistant', content: null, reasoning: null, ...message, tool_calls: calls },
      finish_reason: finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
      usage: { ...counted, total_tokens: usage.total_tokens ?? counted.prompt_tokens + counted.completion_tokens },
      token_ids: tokenIds ?? null,
      logprobs: logprobs ?? null,
      retries: 0,
      tool_results: [],
    };
    this.turns.at(-1)?.steps.push(step.step);
    this.steps.push(step);
    return step;
  }

  /** The newest step that has this call without a result; undefined when there is no such step. */
  stepOfCall(id: string): Step | undefined {
    return this.steps.findLast((step) => openCall(step, id) !== undefined);
  }

  /** The model's last text in the main conversation. It serves as the answer when a file has none. */
  lastText(): string | null {
    const last = this.steps.findLast((step) => isMain(step) && (step.message.content ?? '') !== '');
    return last?.message.content ?? null;
  }

  toTurns(status: Trace['turns'][number]['status'], startedAt: string, finishedAt: string): Trace['turns'] {
    return this.turns.map((turn, index) => ({
      turn: index + 1,
      started_at: turn.started_at ?? startedAt,
      finished_at: this.turns[index + 1]?.started_at ?? finishedAt,
      messages: turn.messages,
      status: index === this.turns.length - 1 ? status : 'answered',
      steps: turn.steps,
    }));
  }
}

/**
 * Assigns the tokens of a whole conversation to its last response, when no response has its own count.
 *
 * @param steps of one conversation.
 * @returns false when there is no step, or when steps have their own counts.
 */
export function countTotal(steps: readonly Step[], total: Partial<Usage>): boolean {
  const last = steps.at(-1);
  if (last === undefined || steps.some(({ usage }) => usage.total_tokens > 0)) return false;
  const prompt = toCount(total.prompt_tokens);
  const completion = toCount(total.completion_tokens);
  const tokens = { prompt_tokens: prompt, completion_tokens: completion };
  last.usage = { ...last.usage, ...total, ...tokens, total_tokens: total.total_tokens ?? prompt + completion };
  return true;
}
