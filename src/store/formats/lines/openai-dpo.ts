import { isDeepStrictEqual } from 'node:util';
import type { Trace } from '../../../contract/service/trace.ts';
import { type Conversation, type ConversationOptions, type LineMessage, toConversation } from '../conversation.ts';
import type { PairFormat, WriteContext } from '../format.ts';
import { jsonOf } from '../json-of.ts';
import { noteTrainingLosses } from './training-losses.ts';

/**
 * A line of OpenAI's preference fine-tuning: the common messages of two conversations up to the first assistant turn
 * that differs, and that turn of each. Conversations whose input differs before that are not a pair.
 */
export function openAiDpoFormat(options: ConversationOptions = {}): PairFormat {
  return {
    name: 'openai-dpo',
    toPairLine: (preferred, other, context) => {
      const pair = cutPair(preferred, other, context, options);
      if (pair === undefined) return undefined;
      for (const trace of [preferred, other]) noteTrainingLosses(trace, context.losses);
      const { messages, tools } = pair;
      return jsonOf({
        input: { messages, ...(tools.length > 0 ? { tools, parallel_tool_calls: true } : {}) },
        preferred_output: [pair.preferred],
        non_preferred_output: [pair.other],
      });
    },
  };
}

interface Pair extends Conversation {
  readonly preferred: LineMessage;
  readonly other: LineMessage;
}

function cutPair(
  preferred: Trace,
  other: Trace,
  context: WriteContext,
  options: ConversationOptions,
): Pair | undefined {
  const better = toConversation(preferred, context, options);
  const worse = toConversation(other, context, options);
  if (better === undefined || worse === undefined) return undefined;
  const at = better.messages.findIndex(
    (message, index) => !isSame(message, worse.messages[index], better, worse, index),
  );
  const [one, two] = [better.messages[at], worse.messages[at]];
  if (one?.role !== 'assistant' || two?.role !== 'assistant' || !isDeepStrictEqual(better.tools, worse.tools)) {
    context.losses.add('trace', 'the two do not part at a turn of the assistant, so that they are no pair');
    return undefined;
  }
  // The common turns get no weight, because both conversations have them.
  const messages = better.messages.slice(0, at).map(withoutWeight);
  return { messages, tools: better.tools, preferred: withoutWeight(one), other: withoutWeight(two) };
}

/** Compares messages. Call ids are random in each run, so they are compared by position. */
function isSame(
  one: LineMessage,
  two: LineMessage | undefined,
  better: Conversation,
  worse: Conversation,
  index: number,
): boolean {
  if (two === undefined) return false;
  if (one.role === 'tool' && two.role === 'tool') {
    const places = [placeOf(better, index, one.tool_call_id), placeOf(worse, index, two.tool_call_id)];
    return places[0] === places[1] && one.content === two.content;
  }
  return isDeepStrictEqual(comparable(one), comparable(two));
}

/** The position of a call among those of the previous response. */
function placeOf({ messages }: Conversation, index: number, id: string | undefined): number | undefined {
  return messages
    .slice(0, index)
    .findLast(({ role }) => role === 'assistant')
    ?.tool_calls?.findIndex((call) => call.id === id);
}

/**
 * The part of a message that is compared. Reasoning is left out: two responses may reason differently and do the same.
 */
function comparable({ role, content, refusal, tool_calls: calls = [] }: LineMessage): object {
  const made = calls.map(({ function: { name, arguments: args } }) => ({ name, args: JSON.parse(args) as unknown }));
  return { role, content, refusal, made };
}

function withoutWeight({ weight: _weight, ...message }: LineMessage): LineMessage {
  return message;
}
