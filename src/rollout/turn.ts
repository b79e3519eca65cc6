import { AGENT_WITHOUT_TOOLS, BoundaryError } from '../contract/errors.ts';
import type { EventBody } from '../contract/event.ts';
import type { JsonObject } from '../contract/json.ts';
import type { OnWait } from '../model/call-guard.ts';
import type { ModelDelta, ModelResponse } from '../model/chat-model.ts';
import type { TraceSpan } from '../telemetry/trace-span.ts';
import type { TurnRecorder } from '../trace/event-recorder.ts';

export interface TurnOptions {
  /** 1 or more; it bounds this turn. */
  readonly maxSteps: number;
  readonly signal: AbortSignal;
  /** Forwarded to the gateway beside the session's own, before which it goes. */
  readonly sampling?: JsonObject | undefined;
  /** The model's text as it comes, at once where it comes so. */
  readonly onDelta?: ((delta: ModelDelta) => void) | undefined;
  /** Told of each wait before a try of the model. */
  readonly onWait?: OnWait | undefined;
  /** Each event of the turn as it is recorded. */
  readonly onEvent?: ((event: EventBody) => void) | undefined;
  readonly span?: TraceSpan | undefined;
}

/** How a turn ended. A failure is a value: what was done before it stays in the session, and the turn can be resumed. */
export type TurnResult = TurnEnding & {
  readonly turn: number;
  /** One for each completed step. */
  readonly responses: readonly ModelResponse[];
  /** Text of the last response; "" where it has none. */
  readonly answer: string;
};

export type TurnEnding =
  | { readonly status: 'answered' | 'max_steps' | 'length' }
  | { readonly status: 'failed'; readonly error: BoundaryError }
  | { readonly status: 'aborted'; readonly reason: unknown };

/** The ending of a turn that threw. @throws a fault of our own: what no boundary has named, while nothing was aborted. */
export function toCutTurn(thrown: unknown, signal: AbortSignal): TurnEnding {
  // One that never began is told so, whatever has ended it.
  if (thrown instanceof BoundaryError && thrown.code === AGENT_WITHOUT_TOOLS)
    return { status: 'failed', error: thrown };
  const cause: unknown = signal.aborted ? signal.reason : thrown;
  // An environment that was lost is a failure, however the turn hears of it.
  if (cause instanceof BoundaryError) return { status: 'failed', error: cause };
  if (signal.aborted) return { status: 'aborted', reason: cause };
  throw thrown;
}

/** A recorder whose events somebody hears as they are recorded. */
export function heardBy(recorder: TurnRecorder, onEvent: TurnOptions['onEvent']): TurnRecorder {
  return {
    record: (event) => {
      recorder.record(event);
      onEvent?.(event);
    },
    settled: () => recorder.settled(),
    toStored: (value) => recorder.toStored(value),
  };
}
