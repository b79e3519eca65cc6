import { isDeepStrictEqual } from 'node:util';
import type { AssistantMessage, TranscriptMessage } from '../../contract/chat.ts';
import { readableText } from '../../contract/content-text.ts';
import type { PromptMessage } from '../../contract/scenario.ts';
import type { UserMessage } from '../../environment/client/environment-client.ts';

export type ToolMessage = Extract<TranscriptMessage, { role: 'tool' }>;

/**
 * The messages for the model: the scenario's system prompt, the caller's instructions, the scenario's prompt, then the
 * turns (contract section 2, "The model's transcript is").
 */
export class Transcript {
  #system: readonly TranscriptMessage[] = [];
  #prompt: readonly TranscriptMessage[] = [];
  #instructions: TranscriptMessage[] = [];
  #turns: TranscriptMessage[] = [];
  /** Messages of a turn that was cut off after it had completed steps. */
  #unanswered: readonly PromptMessage[] | undefined;
  /** Texts between agent and user, if they are sent by a tool and are not a model's texts. */
  #spoken: UserMessage[] | undefined;
  /** The conversation at its end. A later repair of the answer is no part of it. */
  #ended: readonly UserMessage[] | undefined;
  /** The current turn: its messages, the unanswered ones before it, and where it began. */
  #begun: BegunTurn = { messages: [], before: undefined, turns: 0, instructions: 0 };

  constructor(system: string | null, prompt: readonly PromptMessage[]) {
    this.takeOver(system, prompt);
  }

  /** Replaces the beginning of this session with that of another. */
  takeOver(system: string | null, prompt: readonly PromptMessage[]): void {
    this.#system = system === null ? [] : [{ role: 'system', content: system }];
    this.#prompt = prompt.map(toTranscriptMessage);
  }

  get messages(): readonly TranscriptMessage[] {
    return [...this.#system, ...this.#instructions, ...this.#prompt, ...this.#turns];
  }

  /**
   * Begins a turn with a caller's messages; system messages go before the scenario's prompt. A client without an answer
   * sends its messages again, with new ones after them. Messages that repeat a cut-off turn resume it.
   *
   * @returns the new messages.
   */
  beginTurn(messages: readonly PromptMessage[]): readonly PromptMessage[] {
    const before = this.#unanswered;
    const isResumed = before !== undefined && isDeepStrictEqual(messages.slice(0, before.length), before);
    const added = isResumed ? messages.slice(before.length) : messages;
    this.#begun = { messages, before, turns: this.#turns.length, instructions: this.#instructions.length };
    this.#unanswered = undefined;
    for (const message of added) {
      (message.role === 'system' ? this.#instructions : this.#turns).push(toTranscriptMessage(message));
    }
    return added;
  }

  /**
   * Ends a turn that failed or was aborted. Completed steps are kept; without one its messages are dropped (contract
   * section 2).
   */
  cutTurn(hasSteps: boolean): void {
    const { messages, before, turns, instructions } = this.#begun;
    this.#unanswered = hasSteps ? messages : before;
    if (hasSteps) return;
    this.#turns = this.#turns.slice(0, turns);
    this.#instructions = this.#instructions.slice(0, instructions);
  }

  /** Adds a model's response in a form that can be sent back. Gateways refuse arguments that are not JSON. */
  addResponse(message: AssistantMessage): void {
    const calls = message.tool_calls.map((call) =>
      call.raw_arguments === null ? call : { ...call, arguments: {}, raw_arguments: null },
    );
    this.#turns.push({ ...message, tool_calls: calls });
  }

  addToolMessages(messages: readonly ToolMessage[]): void {
    this.#turns.push(...messages);
  }

  /** Adds texts that were sent by a tool. From then on only such texts count as the agent's words to its user. */
  addSpoken(...messages: readonly UserMessage[]): void {
    this.#spoken = [...(this.#spoken ?? []), ...messages];
  }

  /** Ends the conversation, except for the user's last words. */
  endConversation(...lastWords: readonly UserMessage[]): void {
    this.#ended = [...this.conversation(), ...lastWords];
  }

  /** The texts between agent and user, without system texts and tool calls. */
  conversation(): readonly UserMessage[] {
    if (this.#ended !== undefined) return this.#ended;
    const texts = this.#spoken === undefined ? [...this.#prompt, ...this.#turns] : [...this.#prompt, ...this.#asked];
    const said = texts.flatMap((message): UserMessage[] => {
      if (message.role === 'user') return [{ role: 'user', content: readableText(message.content) }];
      if (message.role !== 'assistant' || message.tool_calls.length > 0 || !message.content) return [];
      return [{ role: 'assistant', content: message.content }];
    });
    return [...said, ...(this.#spoken ?? [])];
  }

  get #asked(): readonly TranscriptMessage[] {
    return this.#turns.filter(({ role }) => role === 'user');
  }

  /**
   * The last assistant text, which is submitted if there is no other answer; "" without one. A response without calls
   * counts even if it is empty. A response with calls counts only if it has text.
   */
  lastAssistantText(): string {
    const last = this.#turns.findLast(
      (message): message is AssistantMessage =>
        message.role === 'assistant' && (message.tool_calls.length === 0 || Boolean(message.content?.trim())),
    );
    return last?.content ?? '';
  }
}

interface BegunTurn {
  readonly messages: readonly PromptMessage[];
  readonly before: readonly PromptMessage[] | undefined;
  readonly turns: number;
  readonly instructions: number;
}

/** An assistant message of a prompt keeps only its text, because gateways accept no images there. */
function toTranscriptMessage(message: PromptMessage): TranscriptMessage {
  if (message.role !== 'assistant') return { role: message.role, content: message.content };
  return { role: 'assistant', content: readableText(message.content), reasoning: null, tool_calls: [] };
}
