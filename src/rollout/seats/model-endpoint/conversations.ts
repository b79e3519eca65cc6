import type { AgentTool, AssistantMessage, TranscriptMessage } from '../../../contract/chat.ts';
import { continues, conversationKeys } from '../../../models/dialects/conversation.ts';
import type { DialectRequest } from '../../../models/dialects/dialect.ts';

/** The conversation that a model call of an agent belongs to. */
export interface Place {
  /** Name of the side conversation; null for the main one. */
  readonly branch: string | null;
  /** True if the main conversation goes on without its earlier messages. */
  readonly compacted: boolean;
  /** Messages that are new since the last step of this conversation, without its response. */
  readonly added: readonly TranscriptMessage[];
  /** Offered tools, if they changed since the last step of this conversation. */
  readonly tools: readonly AgentTool[] | undefined;
  readonly keys: readonly string[];
}

export interface PlaceOptions {
  /** True if the call offers the seat's tools. */
  readonly isMain: boolean;
  /** True if a call of the main conversation is in progress. */
  readonly isMainAsking: boolean;
}

interface Conversation {
  readonly keys: readonly string[];
  readonly tools: string;
  readonly response: AssistantMessage;
}

/** Most side conversations that are remembered. */
const MAX_BRANCHES = 50;

/** Tells an agent's main conversation from side conversations: titles, summaries and sub-agents. */
export class Conversations {
  #main: Conversation | undefined;
  /** True if the last main response calls tools of the agent itself. They may ask the model, too. */
  #hasOwnCalls = false;
  readonly #branches = new Map<string, Conversation>();
  #sides = 0;
  #agents = 0;

  /** Finds the conversation of a call. `answered` remembers it later. */
  place(request: DialectRequest, { isMain, isMainAsking }: PlaceOptions): Place {
    const byMessage = request.messages.map((message) => conversationKeys([message]));
    const keys = byMessage.flat();
    const toPlace = (branch: string | null, before: Conversation | undefined, compacted = false): Place => {
      const tools = toolsOf(request);
      const isSame = before?.tools === JSON.stringify(tools);
      const added = compacted ? request.messages : addedTo(before, request.messages, byMessage);
      return { branch, compacted, added, tools: isSame ? undefined : tools, keys };
    };
    const main = this.#main;
    if (isMain && !isMainAsking && (main === undefined || continues(keys, main.keys))) return toPlace(null, main);
    const known = [...this.#branches].filter(([, branch]) => continues(keys, branch.keys));
    const [longest] = known.sort(([, a], [, b]) => b.keys.length - a.keys.length);
    if (longest !== undefined) return toPlace(...longest);
    // A call is a side conversation if the main one waits for its model or for a tool of the agent itself.
    if (isMain && !isMainAsking && !this.#hasOwnCalls) return toPlace(null, main, true);
    if (request.tools.length === 0) return toPlace(`side-${++this.#sides}`, undefined);
    return toPlace(`agent-${++this.#agents}`, undefined);
  }

  /** Remembers an answered call. @param hasOwnCalls whether the response calls tools that do not belong to the seat. */
  answered(request: DialectRequest, { branch, keys }: Place, response: AssistantMessage, hasOwnCalls: boolean): void {
    const conversation = { keys, tools: JSON.stringify(toolsOf(request)), response };
    if (branch === null) {
      this.#main = conversation;
      this.#hasOwnCalls = hasOwnCalls;
      return;
    }
    this.#branches.delete(branch);
    this.#branches.set(branch, conversation);
    for (const oldest of this.#branches.keys()) {
      if (this.#branches.size <= MAX_BRANCHES) return;
      this.#branches.delete(oldest);
    }
  }
}

function toolsOf({ tools }: DialectRequest): readonly AgentTool[] {
  return tools.map(({ name, description, input_schema }) => ({ name, description, input_schema }));
}

/** Messages after those that the conversation began with, except the response, which is in the trace already. */
function addedTo(
  before: Conversation | undefined,
  messages: readonly TranscriptMessage[],
  byMessage: readonly (readonly string[])[],
): readonly TranscriptMessage[] {
  if (before === undefined) return messages;
  let seen = 0;
  const first = byMessage.findIndex((keys) => {
    seen += keys.length;
    return seen > before.keys.length;
  });
  if (first === -1) return [];
  const response = conversationKeys([before.response]).join();
  return messages.filter((_message, index) => index >= first && byMessage[index]?.join() !== response);
}
