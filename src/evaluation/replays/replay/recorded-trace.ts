import { isDeepStrictEqual } from 'node:util';
import { readableText } from '../../../contract/content-text.ts';
import type { Json } from '../../../contract/json.ts';
import type { PromptMessage } from '../../../contract/scenario.ts';
import type { Step, ToolResultRecord, Trace, TurnStatus, UserReplyRecord } from '../../../contract/service/trace.ts';
import type { RecordedWords } from '../../../rollout/session/user/recorded-user.ts';
import type { RecordedReply } from '../../../rollout/session/user/simulated-user.ts';
import { restoreBytes } from '../../../store/traces/rows/blob-references.ts';
import type { TraceStore } from '../../../store/traces/trace-store.ts';
import { isPlayedByAgent } from '../recorded-runs.ts';

/** One turn of a trace that can be repeated. */
export interface RecordedTurn {
  /** Messages that the caller added, with whole images; empty for a run. */
  readonly messages: readonly PromptMessage[];
  readonly steps: readonly Step[];
  /** Calls of an agent that brought its own model. */
  readonly calls: readonly ToolResultRecord[];
  readonly status: TurnStatus;
  /** Reply of a simulated user to this turn. */
  readonly reply: RecordedReply | undefined;
}

/** A trace that is repeated. */
export interface RecordedTrace {
  readonly trace: Trace;
  /** Turns, at least one. A trace without turns gets an empty one. */
  readonly turns: readonly RecordedTurn[];
}

/** @param blobs finds the blobs that the owner of the trace may see. */
export async function readRecorded(trace: Trace, blobs: Blobs): Promise<RecordedTrace> {
  const steps = new Map(trace.steps.map((step) => [step.step, step]));
  const turns: RecordedTurn[] = [];
  for (const [index, turn] of trace.turns.entries()) {
    turns.push({
      messages: await toWhole(callerMessages(trace, index), blobs),
      steps: turn.steps.flatMap((number) => steps.get(number) ?? []),
      calls: index === 0 ? (trace.tool_calls ?? []) : [],
      status: turn.status,
      // An agent at a seat got the replies as tool results.
      reply: turn.user === undefined || isPlayedByAgent(trace) ? undefined : toReply(turn.user),
    });
  }
  return { trace, turns: turns.length === 0 ? [NO_TURN] : turns };
}

function toReply({ message, is_over: isOver, model, calls }: UserReplyRecord): RecordedReply {
  return { message, isOver, model, calls };
}

/** Replies of the simulated user of a trace in these turns; undefined where the caller of a chat was the user. */
export function toWords(
  { origin, prompt, turns: [first] }: Trace,
  turns: readonly RecordedTurn[],
): RecordedWords | undefined {
  if (origin === 'chat') return undefined;
  const replies = turns.flatMap(({ reply }) => reply ?? []);
  if (first?.opening !== undefined) return { opening: toReply(first.opening), replies };
  const [message] = prompt.length === 0 ? (first?.messages ?? []) : [];
  const content = message === undefined ? null : readableText(message.content);
  return { opening: { message: content, isOver: content === null, model: null, calls: [] }, replies };
}

/** For a trace that ended before its first turn, only the setup is repeated. */
const NO_TURN: RecordedTurn = { messages: [], steps: [], calls: [], status: 'answered', reply: undefined };

/** Finds stored bytes by their hash; undefined if there are none. */
export type Blobs = (sha256: string) => Promise<{ readonly bytes: Uint8Array } | undefined>;

/** Only blobs of an account, because a tool may have written a reference to another account's bytes. */
export function blobsOf(store: Pick<TraceStore, 'blob'>, account: string): Blobs {
  return (sha256) => store.blob(sha256, account);
}

/** Replaces references by their bytes. An unknown reference stays a text. */
export async function toWhole<T>(value: T, blobs: Blobs): Promise<T> {
  const get = async (sha256: string) => {
    const blob = /^[0-9a-f]{64}$/.test(sha256) ? await blobs(sha256) : undefined;
    return blob && Buffer.from(blob.bytes).toString('base64');
  };
  // It came out of a trace, which is JSON.
  return (await restoreBytes(value as Json, get)) as T;
}

/** A first turn without messages shows the prompt of its scenario. */
function callerMessages({ origin, prompt, turns }: Trace, index: number): readonly PromptMessage[] {
  const messages = turns[index]?.messages ?? [];
  if (index > 0) return messages;
  // A simulated user begins where there is no prompt.
  if (prompt.length === 0) return messages;
  return origin !== 'chat' || isDeepStrictEqual(messages, prompt) ? [] : messages;
}
