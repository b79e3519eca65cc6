import type { AssistantMessage, ContentBlock, TranscriptMessage } from '../contract/chat.ts';
import { readableText } from '../contract/content-text.ts';
import type { PromptMessage } from '../contract/scenario.ts';

export type ToolMessage = Extract<TranscriptMessage, { role: 'tool' }>;

/**
 * The messages for the model: the scenario's system prompt, the caller's instructions, the scenario's prompt, then the
 * turns (contract section 2, "The model's transcript is").
 */
export class Transcript {
  readonly #system: readonly TranscriptMessage[];
  readonly #prompt: readonly TranscriptMessage[];
  #instructions: TranscriptMessage[] = [];
  #turns: TranscriptMessage[] = [];

  constructor(system: string | null, prompt: readonly PromptMessage[]) {
    this.#system = system === null ? [] : [{ role: 'system', content: system }];
    this.#prompt = prompt.map(toTranscriptMessage);
  }

  get messages(): readonly TranscriptMessage[] {
    return [...this.#system, ...this.#instructions, ...this.#prompt, ...this.#turns];
  }

  /** A caller's messages at the start of a turn; its system messages go before the scenario's prompt. */
  addCallerMessages(messages: readonly PromptMessage[]): void {
    for (const message of messages) {
      (message.role === 'system' ? this.#instructions : this.#turns).push(toTranscriptMessage(message));
    }
  }

  /** Adds a model's answer in the form that may be sent back: gateways refuse arguments that are not JSON. */
  addResponse(message: AssistantMessage): void {
    const calls = message.tool_calls.map((call) =>
      call.raw_arguments === null ? call : { ...call, arguments: {}, raw_arguments: null },
    );
    this.#turns.push({ ...message, tool_calls: calls });
  }

  addToolMessages(messages: readonly ToolMessage[]): void {
    this.#turns.push(...messages);
  }

  /** Where the transcript stands, to come back to with `restore`. */
  mark(): { readonly turns: number; readonly instructions: number } {
    return { turns: this.#turns.length, instructions: this.#instructions.length };
  }

  /** Drops what was added after the mark. */
  restore(mark: { readonly turns: number; readonly instructions: number }): void {
    this.#turns = this.#turns.slice(0, mark.turns);
    this.#instructions = this.#instructions.slice(0, mark.instructions);
  }

  /**
   * The last assistant text, which is what is submitted where nobody names an answer; "" where there is none. A
   * response without calls is one, be it empty; of those with calls, only one that says something.
   */
  lastAssistantText(): string {
    const last = this.#turns.findLast(
      (message): message is AssistantMessage =>
        message.role === 'assistant' && (message.tool_calls.length === 0 || Boolean(message.content?.trim())),
    );
    return last?.content ?? '';
  }
}

/** A prompt's assistant message has its text alone: gateways take no images there. */
function toTranscriptMessage(message: PromptMessage): TranscriptMessage {
  if (message.role !== 'assistant') return { role: message.role, content: message.content };
  return { role: 'assistant', content: readableText(message.content), reasoning: null, tool_calls: [] };
}
