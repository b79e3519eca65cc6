import type { AgentTool, AssistantMessage, TranscriptMessage } from '../contract/chat.ts';
import { continues, conversationKeys } from '../dialects/conversation.ts';
import type { DialectRequest } from '../dialects/dialect.ts';

/** Where a model call of an agent belongs. */
export interface Place {
  /** Null: the main conversation. */
  readonly branch: string | null;
  /** The main conversation goes on, and what came before is lost. */
  readonly compacted: boolean;
  /** Messages that the last step of this conversation did not have, without its response. */
  readonly added: readonly TranscriptMessage[];
  /** The tools that it offers, where they are others than those of the last step of this conversation. */
  readonly tools: readonly AgentTool[] | undefined;
  readonly keys: readonly string[];
}

export interface PlaceOptions {
  /** Whether it offers the tools of the seat. */
  readonly isMain: boolean;
  /** Whether a call of the main conversation goes on. */
  readonly isMainAsking: boolean;
}

interface Conversation {
  readonly keys: readonly string[];
  readonly tools: string;
  readonly response: AssistantMessage;
}

/** Conversations beside the main one that are remembered. */
const MAX_BRANCHES = 50;

/** Tells the main conversation of an agent from those beside it: titles, summaries, sub-agents. */
export class Conversations {
  #main: Conversation | undefined;
  /** Whether the last response of the main conversation calls tools of the agent's own, which may ask its model themselves. */
  #hasOwnCalls = false;
  readonly #branches = new Map<string, Conversation>();
  #sides = 0;
  #agents = 0;

  /** Where a call belongs. It is remembered once it was answered. */
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
    // One that asks while the main conversation waits, be it for its model or for a tool of the agent's own, is another.
    if (isMain && !isMainAsking && !this.#hasOwnCalls) return toPlace(null, main, true);
    if (request.tools.length === 0) return toPlace(`side-${++this.#sides}`, undefined);
    return toPlace(`agent-${++this.#agents}`, undefined);
  }

  /** Remembers a call that was answered. @param hasOwnCalls whether the response calls tools that are not the seat's. */
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

/** Messages after those that the conversation began with; the response is in the trace already. */
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
