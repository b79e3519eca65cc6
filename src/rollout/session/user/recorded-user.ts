import type { UserMessage } from '../../../environment/client/environment-client.ts';
import type { ConversationUser, RecordedReply, UserReply } from './simulated-user.ts';

/** Replies of a simulated user in an earlier run. */
export interface RecordedWords {
  /** Message that began the conversation; undefined if the prompt did. */
  readonly opening: RecordedReply | undefined;
  /** Its replies, in order. */
  readonly replies: readonly RecordedReply[];
}

/** A user that repeats its replies of an earlier run, and answers by itself after the last one. */
export class RecordedUser implements ConversationUser {
  readonly #user: ConversationUser;
  readonly #words: RecordedWords;
  #next = 0;

  constructor(user: ConversationUser, words: RecordedWords) {
    this.#user = user;
    this.#words = words;
  }

  get maxTurns(): number {
    return this.#user.maxTurns;
  }

  async reply(conversation: readonly UserMessage[], signal: AbortSignal): Promise<UserReply> {
    const { opening = NOTHING, replies } = this.#words;
    if (conversation.length === 0) return await this.#user.repeat(opening, conversation, signal);
    const recorded = replies[this.#next];
    this.#next += 1;
    if (recorded === undefined) return await this.#user.reply(conversation, signal);
    return await this.#user.repeat(recorded, conversation, signal);
  }

  async repeat(recorded: RecordedReply, conversation: readonly UserMessage[], signal: AbortSignal): Promise<UserReply> {
    return await this.#user.repeat(recorded, conversation, signal);
  }
}

/** The opening if the recorded conversation began with a prompt and today's has none. */
const NOTHING: RecordedReply = { message: null, isOver: true, model: null, calls: [] };
