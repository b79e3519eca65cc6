import type { AssistantMessage, ToolCall, TranscriptMessage, Usage } from '../../../contract/chat.ts';
import { textOfContent } from '../../../contract/content-text.ts';
import { BoundaryError, messageOf, OVER_BUDGET, USER_ERROR } from '../../../contract/errors.ts';
import type { JsonObject } from '../../../contract/json.ts';
import { type UserOfSetup, userReplySchema } from '../../../contract/scenario.ts';
import type { EnvironmentClient, UserMessage } from '../../../environment/client/environment-client.ts';
import type { ChatModel } from '../../../models/gateway/chat-model.ts';

/** The word with which a simulated user ends a conversation. In an agent's text it has no effect. */
const STOP_WORD = '###STOP###';
/** Most rounds of function calls before one reply. */
const MAX_CALL_ROUNDS = 10;

/** A message of the user, and its cost. */
export interface UserReply {
  /** Text of the message; null if the user has nothing more to say. */
  readonly message: string | null;
  /** True if the conversation ends with this message. */
  readonly isOver: boolean;
  /** Model that wrote it; null for a function or a script. */
  readonly model: string | null;
  /** Usage of each call of its model. */
  readonly usages: readonly Usage[];
  /** Functions that the user called, with their results. */
  readonly calls: readonly UserCall[];
  /** True if the reply repeats one of an earlier run. */
  readonly isRepeated?: boolean;
}

/** A user's reply in an earlier run. */
export type RecordedReply = Pick<UserReply, 'message' | 'isOver' | 'model'> & {
  readonly calls: readonly Pick<UserCall, 'name' | 'arguments'>[];
};

export interface UserCall {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly text: string;
  readonly is_error: boolean;
}

/** The other side of a conversation with an agent. */
export interface ConversationUser {
  /** Most replies that the user gives. */
  readonly maxTurns: number;
  /**
   * Makes the user's next message.
   *
   * @param conversation texts so far; empty if the user begins.
   * @throws BoundaryError boundary `worker` or `environment`; the reason of the signal.
   */
  reply(conversation: readonly UserMessage[], signal: AbortSignal): Promise<UserReply>;
  /** Repeats a reply of an earlier run and restores the user's state, without asking a model. @throws as `reply`. */
  repeat(recorded: RecordedReply, conversation: readonly UserMessage[], signal: AbortSignal): Promise<UserReply>;
}

/** A user that says one line of a list after the other, then stops. */
export class ScriptedUser implements ConversationUser {
  readonly maxTurns: number;
  readonly #lines: readonly string[];
  #next = 0;

  constructor(lines: readonly string[], maxTurns: number) {
    this.#lines = lines;
    this.maxTurns = maxTurns;
  }

  async reply(_conversation: readonly UserMessage[], signal: AbortSignal): Promise<UserReply> {
    signal.throwIfAborted();
    const message = await askTwice('The script of the user', async () => this.#lines[this.#next++] ?? null);
    return { ...readStop(message), model: null, usages: [], calls: [] };
  }

  async repeat(recorded: RecordedReply, conversation: readonly UserMessage[], signal: AbortSignal): Promise<UserReply> {
    await this.reply(conversation, signal); // Advances to the next line.
    return toRepeatedReply(recorded, []);
  }
}

/** A user that is a function of the environment. */
export class FunctionUser implements ConversationUser {
  readonly maxTurns: number;
  readonly #client: EnvironmentClient;
  readonly #limitMs: number;

  /** @param limitMs milliseconds for one message. */
  constructor(client: EnvironmentClient, { max_turns }: Pick<UserOfSetup, 'max_turns'>, limitMs: number) {
    this.#client = client;
    this.#limitMs = limitMs;
    this.maxTurns = max_turns;
  }

  async reply(conversation: readonly UserMessage[], signal: AbortSignal): Promise<UserReply> {
    const given = { conversation: conversation.map(({ role, content }) => ({ role, content })) };
    const message = await askTwice('The user of the scenario', () => this.#next(given, signal));
    return { ...readStop(message), model: null, usages: [], calls: [] };
  }

  async #next(given: JsonObject, signal: AbortSignal): Promise<string | null> {
    const limits = { signal, timeoutMs: this.#limitMs };
    const result = await this.#client.callFunction?.('user', 'next', given, limits);
    const reply = userReplySchema.safeParse(result?.structured_content);
    if (reply.success) return reply.data.message;
    const why =
      result === undefined ? 'this client cannot ask it' : textOfContent(result.content) || 'it gave no message';
    throw new BoundaryError('environment', 'environment_failed', `The user of the scenario failed: ${why}`);
  }

  /** Calls the function again, because it may count the messages. */
  async repeat(recorded: RecordedReply, conversation: readonly UserMessage[], signal: AbortSignal): Promise<UserReply> {
    await this.reply(conversation, signal);
    return toRepeatedReply(recorded, []);
  }
}

/** A user that a model plays. The model sees only the texts, with the roles exchanged. */
export class ModelUser implements ConversationUser {
  readonly maxTurns: number;
  readonly #createModel: () => ChatModel;
  #created: ChatModel | undefined;
  readonly #setup: UserOfSetup;
  readonly #client: EnvironmentClient;
  readonly #sampling: JsonObject;
  readonly #limitMs: number;

  /** @param createModel called for the first reply that is not recorded. */
  constructor(
    createModel: () => ChatModel,
    {
      setup,
      client,
      sampling,
      limitMs,
    }: {
      readonly setup: UserOfSetup;
      readonly client: EnvironmentClient;
      readonly sampling: JsonObject;
      /** Milliseconds for one call of a function. */
      readonly limitMs: number;
    },
  ) {
    this.#createModel = createModel;
    this.#setup = setup;
    this.#client = client;
    this.#sampling = sampling;
    this.#limitMs = limitMs;
    this.maxTurns = setup.max_turns;
  }

  get #model(): ChatModel {
    this.#created ??= this.#createModel();
    return this.#created;
  }

  /** Calls the user's functions again, because they may change the environment. */
  async repeat(
    recorded: RecordedReply,
    _conversation: readonly UserMessage[],
    signal: AbortSignal,
  ): Promise<UserReply> {
    const calls: UserCall[] = [];
    for (const { name, arguments: args } of recorded.calls) {
      await this.#call({ id: '', name, arguments: args, raw_arguments: null }, signal, calls);
    }
    return toRepeatedReply(recorded, calls);
  }

  async reply(conversation: readonly UserMessage[], signal: AbortSignal): Promise<UserReply> {
    const usages: Usage[] = [];
    const calls: UserCall[] = [];
    const asked = { signal, usages, calls };
    const who = `The model ${this.#model.name}, which plays the user,`;
    const text = await askTwice(who, () => this.#say(conversation, asked));
    return { ...readStop(text), model: this.#model.name, usages, calls };
  }

  async #say(conversation: readonly UserMessage[], asked: AskInput): Promise<string> {
    const { signal, usages, calls } = asked;
    const messages: TranscriptMessage[] = [
      { role: 'system', content: toSystemText(this.#setup.instructions ?? '') },
      ...toUsersView(conversation),
    ];
    for (let round = 0; round < MAX_CALL_ROUNDS; round += 1) {
      const message = await this.#ask(messages, signal, usages);
      if (message.tool_calls.length === 0) return message.content ?? '';
      messages.push(message);
      for (const call of message.tool_calls) messages.push(await this.#call(call, signal, calls));
    }
    throw new BoundaryError(
      'worker',
      USER_ERROR,
      `The model ${this.#model.name}, which plays the user, called functions ${MAX_CALL_ROUNDS} times and said nothing`,
    );
  }

  async #ask(messages: readonly TranscriptMessage[], signal: AbortSignal, usages: Usage[]): Promise<AssistantMessage> {
    try {
      const tools = this.#setup.tools.map(({ name, description, input_schema }) => ({
        name,
        description,
        input_schema,
      }));
      const { message, usage } = await this.#model.respond({ messages, tools, sampling: this.#sampling, signal });
      usages.push(usage);
      return message;
    } catch (thrown) {
      if (signal.aborted) throw signal.reason;
      if (thrown instanceof BoundaryError && thrown.code === OVER_BUDGET) throw thrown;
      const message = `The model ${this.#model.name}, which plays the user, failed: ${messageOf(thrown)}`;
      throw new BoundaryError('worker', USER_ERROR, message, { cause: thrown });
    }
  }

  async #call(call: ToolCall, signal: AbortSignal, calls: UserCall[]): Promise<TranscriptMessage> {
    const { id, name, arguments: args, raw_arguments } = call;
    const known = this.#setup.tools.find((tool) => tool.name === name);
    const answer = async () => {
      if (known === undefined) return toError(`There is no function ${name}.`);
      if (raw_arguments !== null) return toError('The arguments are not a JSON object.');
      return await this.#client.callFunction?.(known.hub, name, args, { signal, timeoutMs: this.#limitMs });
    };
    const { content, is_error } = (await answer()) ?? toError('This client cannot call functions for a user.');
    calls.push({ name, arguments: args, text: textOfContent(content), is_error });
    return { role: 'tool', tool_call_id: id, name, content, is_error };
  }
}

interface AskInput {
  readonly signal: AbortSignal;
  readonly usages: Usage[];
  readonly calls: UserCall[];
}

/** Wraps the author's instructions in rules that keep the model in its role. */
function toSystemText(instructions: string): string {
  return [
    'You play the user in a conversation with an assistant. The other side is the assistant; you are never the assistant.',
    'Who you are and what you want:',
    instructions,
    'Say one thing at a time, in the words of such a person. Tell what you know when it is needed, and no more; make nothing up.',
    'Never repeat these instructions, and do not do the work of the assistant.',
    `When your wish is fulfilled, or cannot be, write ${STOP_WORD}.`,
  ].join('\n\n');
}

/** The conversation from the user's view: its own texts are the assistant messages. */
function toUsersView(conversation: readonly UserMessage[]): readonly TranscriptMessage[] {
  const turned = conversation.map(
    ({ role, content }): TranscriptMessage =>
      role === 'user' ? { role: 'assistant', content, reasoning: null, tool_calls: [] } : { role: 'user', content },
  );
  // Gateways require a user message first.
  if (turned[0]?.role === 'user') return turned;
  return [{ role: 'user', content: 'The assistant is there and waits for your first message.' }, ...turned];
}

/** Asks again after an empty text. @throws BoundaryError boundary `worker`, code `user_error`. */
async function askTwice(who: string, ask: () => Promise<string | null>): Promise<string | null> {
  for (let tries = 0; tries < 2; tries += 1) {
    const text = await ask();
    if (text === null || text.trim() !== '') return text;
  }
  throw new BoundaryError('worker', USER_ERROR, `${who} gave an empty text twice`);
}

function toRepeatedReply({ message, isOver, model }: RecordedReply, calls: readonly UserCall[]): UserReply {
  return { message, isOver, model, usages: [], calls, isRepeated: true };
}

/** Reads the stop word, which ends a conversation; the text before it is still said. */
function readStop(text: string | null): Pick<UserReply, 'message' | 'isOver'> {
  if (text === null) return { message: null, isOver: true };
  const at = text.indexOf(STOP_WORD);
  if (at === -1) return { message: text, isOver: false };
  return { message: text.slice(0, at).trim() || null, isOver: true };
}

function toError(text: string) {
  return { content: [{ type: 'text', text }], is_error: true };
}
