import { BoundaryError, USER_ERROR } from '../../../contract/errors.ts';
import type { PromptMessage } from '../../../contract/scenario.ts';
import { REPEATED_USAGE, toHarnessUsage } from '../../../contract/service/usage.ts';
import type { UserMessage } from '../../../environment/client/environment-client.ts';
import type { TurnRecorder } from '../../../store/traces/event-recorder.ts';
import type { Transcript } from '../transcript.ts';
import type { ConversationUser, UserReply } from './simulated-user.ts';

export interface UserConversationOptions {
  readonly user: ConversationUser;
  readonly transcript: Transcript;
  readonly recorder: TurnRecorder;
  /** Aborted when the session ends. */
  readonly ended: AbortSignal;
}

/** The user's next messages, or the reason why there are none. */
export type NextMessages =
  | { readonly kind: 'said'; readonly messages: readonly PromptMessage[] }
  /** The user ended the conversation, or the agent's text was empty. */
  | { readonly kind: 'over' }
  /** The user has used up its replies. */
  | { readonly kind: 'user_turns' };

/** The user's reply to a message of the agent; null if the user has nothing more to say. */
export interface SpokenReply {
  readonly message: string | null;
  /** True if further messages get no answer. */
  readonly isOver: boolean;
}

/** The simulated user of one session. It counts its replies, and records each before the agent gets it. */
export class UserConversation {
  readonly #options: UserConversationOptions;
  #replies = 0;
  #isOver = false;
  /** Queues messages, because each needs the whole conversation before it. */
  #saying: Promise<unknown> = Promise.resolve();

  constructor(options: UserConversationOptions) {
    this.#options = options;
  }

  /** The user's first message in a conversation without a prompt. @throws as `ConversationUser.reply`. */
  async begin(signal: AbortSignal): Promise<readonly PromptMessage[]> {
    if (this.#options.transcript.conversation().length > 0) return [];
    const { message, isOver } = await this.#ask(0, [], signal);
    if (message === null)
      throw new BoundaryError('worker', USER_ERROR, 'The user ended the conversation before it began');
    this.#isOver = isOver;
    return [{ role: 'user', content: message }];
  }

  /** The user's reply to the text that ended a turn. @throws as `ConversationUser.reply`. */
  async next(turn: number, signal: AbortSignal): Promise<NextMessages> {
    const { transcript, user } = this.#options;
    if (this.#isOver || transcript.lastAssistantText().trim() === '') {
      transcript.endConversation();
      return { kind: 'over' };
    }
    if (this.#replies >= user.maxTurns) return { kind: 'user_turns' };
    return await this.#reply(turn, transcript.conversation(), signal);
  }

  /**
   * The user's reply to a message that the agent sent through a tool.
   *
   * @returns undefined if the conversation was over already. @throws as `ConversationUser.reply`.
   */
  async say(turn: number, message: string, signal: AbortSignal): Promise<SpokenReply | undefined> {
    const saying = this.#saying.then(() => this.#say(turn, message, signal));
    this.#saying = saying.catch(() => {}); // The caller of `say` gets the error.
    return await saying;
  }

  async #say(turn: number, message: string, signal: AbortSignal): Promise<SpokenReply | undefined> {
    const { transcript, user } = this.#options;
    signal.throwIfAborted();
    if (this.#isOver || this.#replies >= user.maxTurns) return undefined;
    transcript.addSpoken({ role: 'assistant', content: message });
    const reply = await this.#ask(turn, transcript.conversation(), signal);
    if (reply.message !== null) transcript.addSpoken({ role: 'user', content: reply.message });
    this.#isOver = reply.isOver || reply.message === null;
    return { message: reply.message, isOver: this.#isOver };
  }

  async #reply(turn: number, conversation: readonly UserMessage[], signal: AbortSignal): Promise<NextMessages> {
    const { message, isOver } = await this.#ask(turn, conversation, signal);
    if (message !== null && !isOver) return { kind: 'said', messages: [{ role: 'user', content: message }] };
    this.#options.transcript.endConversation(
      ...(message === null ? [] : [{ role: 'user' as const, content: message }]),
    );
    return { kind: 'over' };
  }

  async #ask(turn: number, conversation: readonly UserMessage[], signal: AbortSignal): Promise<UserReply> {
    const { user, recorder, ended } = this.#options;
    const startedAt = performance.now();
    const reply = await user.reply(conversation, AbortSignal.any([signal, ended]));
    this.#replies += 1;
    recorder.record(toEvent(turn, reply, Math.round(performance.now() - startedAt)));
    await recorder.settled();
    return reply;
  }
}

function toEvent(turn: number, reply: UserReply, duration_ms: number) {
  const { message, isOver, model, calls, usages, isRepeated = false } = reply;
  return {
    type: 'user.responded' as const,
    turn,
    message,
    is_over: isOver,
    model,
    calls: [...calls],
    usage: isRepeated ? REPEATED_USAGE : toHarnessUsage(usages),
    duration_ms,
    ...(isRepeated ? { repeated: true } : {}),
  };
}
