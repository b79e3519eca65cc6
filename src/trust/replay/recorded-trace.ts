import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../contract/json.ts';
import type { PromptMessage } from '../../contract/scenario.ts';
import type { Step, ToolResultRecord, Trace, TurnStatus } from '../../contract/trace.ts';
import { restoreBytes } from '../../trace/blob-references.ts';
import type { TraceStore } from '../../trace/trace-store.ts';

/** One turn of a trace, as it can be played again. */
export interface RecordedTurn {
  /** Those that the caller added; a run has none. Images are whole. */
  readonly messages: readonly PromptMessage[];
  readonly steps: readonly Step[];
  /** Calls of an agent that brought its own model. */
  readonly calls: readonly ToolResultRecord[];
  readonly status: TurnStatus;
}

/** A trace that is repeated. */
export interface RecordedTrace {
  readonly trace: Trace;
  /** One or more; of a trace that has none, an empty one. */
  readonly turns: readonly RecordedTurn[];
}

/** @param blobs those that the owner of the trace may see. */
export async function readRecorded(trace: Trace, blobs: Blobs): Promise<RecordedTrace> {
  const steps = new Map(trace.steps.map((step) => [step.step, step]));
  const turns: RecordedTurn[] = [];
  for (const [index, turn] of trace.turns.entries()) {
    turns.push({
      messages: await toWhole(callerMessages(trace, index), blobs),
      steps: turn.steps.flatMap((number) => steps.get(number) ?? []),
      calls: index === 0 ? (trace.tool_calls ?? []) : [],
      status: turn.status,
    });
  }
  return { trace, turns: turns.length === 0 ? [NO_TURN] : turns };
}

/** A trace that ended before its first turn has the setup alone to repeat. */
const NO_TURN: RecordedTurn = { messages: [], steps: [], calls: [], status: 'answered' };

/** Gives stored bytes by their hash; undefined for what is not there. */
export type Blobs = (sha256: string) => Promise<{ readonly bytes: Uint8Array } | undefined>;

/** Those of an account: a tool may have written a reference to bytes of others. */
export function blobsOf(store: Pick<TraceStore, 'blob'>, account: string): Blobs {
  return (sha256) => store.blob(sha256, account);
}

/** The value with its bytes in the place of their references. A reference to nothing is a text like any other. */
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
