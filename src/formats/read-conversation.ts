import type { AssistantMessage, FinishReason, Usage } from '../contract/chat.ts';
import type { Json } from '../contract/json.ts';
import type { PromptMessage } from '../contract/scenario.ts';
import type { Step, StepInput, Trace } from '../contract/trace.ts';
import { NO_USAGE, openCall } from './imported-trace.ts';

/** A response as a file has it; what it does not say is left out. */
export interface ReadStep {
  readonly message: Partial<Omit<AssistantMessage, 'role'>>;
  readonly usage?: Partial<Usage> | undefined;
  readonly finishReason?: FinishReason | undefined;
  readonly startedAt?: string | undefined;
  readonly modelMs?: number | undefined;
  readonly tokenIds?: Json;
  readonly logprobs?: Json;
  /** Conversation beside the main one that it belongs to, and what was said before it there. */
  readonly branch?: { readonly name: string; readonly input: StepInput | undefined } | undefined;
}

/**
 * Collects a conversation of a file of others: messages that come before a response begin the first turn, one that comes
 * after a response begins the next.
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

  /** The newest step with this call unanswered; undefined where none has it. */
  stepOfCall(id: string): Step | undefined {
    return this.steps.findLast((step) => openCall(step, id) !== undefined);
  }

  /** The last text that a model said: what stands for an answer where a file names none. */
  lastText(): string | null {
    return (
      this.steps.findLast(({ message }) => message.content !== null && message.content !== '')?.message.content ?? null
    );
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
