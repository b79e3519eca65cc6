import { isDeepStrictEqual } from 'node:util';
import type { UserMessage } from '../client/environment-client.ts';
import type { AssistantMessage, TranscriptMessage } from '../contract/chat.ts';
import { readableText } from '../contract/content-text.ts';
import type { PromptMessage } from '../contract/scenario.ts';

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
  /** Messages of a turn that was cut off after it had changed the environment. */
  #unanswered: readonly PromptMessage[] | undefined;
  /** The words of agent and user, where these are not the texts of a model. */
  #spoken: UserMessage[] | undefined;
  /** The whole conversation, once it is over: what a model is still asked to mend is no part of it. */
  #ended: readonly UserMessage[] | undefined;
  /** The present turn: its messages, those that had no answer before it, and where it began. */
  #begun: BegunTurn = { messages: [], before: undefined, turns: 0, instructions: 0 };

  constructor(system: string | null, prompt: readonly PromptMessage[]) {
    this.takeOver(system, prompt);
  }

  /** Puts the beginning of another session in the place of this one's. */
  takeOver(system: string | null, prompt: readonly PromptMessage[]): void {
    this.#system = system === null ? [] : [{ role: 'system', content: system }];
    this.#prompt = prompt.map(toTranscriptMessage);
  }

  get messages(): readonly TranscriptMessage[] {
    return [...this.#system, ...this.#instructions, ...this.#prompt, ...this.#turns];
  }

  /**
   * Begins a turn with a caller's messages; its system messages go before the scenario's prompt. A client that has no
   * answer to messages sends them again, with what it has to say since: those of a turn that was cut off resume it.
   *
   * @returns the messages that are new.
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

  /** The turn failed or was aborted: its completed steps are kept; without one its messages are dropped (contract section 2). */
  cutTurn(hasSteps: boolean): void {
    const { messages, before, turns, instructions } = this.#begun;
    this.#unanswered = hasSteps ? messages : before;
    if (hasSteps) return;
    this.#turns = this.#turns.slice(0, turns);
    this.#instructions = this.#instructions.slice(0, instructions);
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

  /** From now on the agent says nothing to its user but what is added by this. */
  addSpoken(...messages: readonly UserMessage[]): void {
    this.#spoken = [...(this.#spoken ?? []), ...messages];
  }

  /** From now on neither side says anything, but for the last words of the user. */
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

interface BegunTurn {
  readonly messages: readonly PromptMessage[];
  readonly before: readonly PromptMessage[] | undefined;
  readonly turns: number;
  readonly instructions: number;
}

/** A prompt's assistant message has its text alone: gateways take no images there. */
function toTranscriptMessage(message: PromptMessage): TranscriptMessage {
  if (message.role !== 'assistant') return { role: message.role, content: message.content };
  return { role: 'assistant', content: readableText(message.content), reasoning: null, tool_calls: [] };
}
