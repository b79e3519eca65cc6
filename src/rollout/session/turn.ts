import { AGENT_WITHOUT_TOOLS, BoundaryError } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { EventBody } from '../../contract/service/event.ts';
import type { OnWait } from '../../models/gateway/call-guard.ts';
import type { ModelDelta, ModelResponse } from '../../models/gateway/chat-model.ts';
import type { TurnRecorder } from '../../store/traces/event-recorder.ts';
import type { TraceSpan } from '../../support/telemetry/trace-span.ts';

export interface TurnOptions {
  /** Most steps of this turn, 1 or more. */
  readonly maxSteps: number;
  readonly signal: AbortSignal;
  /** Sampling for the gateway. It takes precedence over the session's own. */
  readonly sampling?: JsonObject | undefined;
  /** Called with each piece of the model's text; once with all of it if the text is not streamed. */
  readonly onDelta?: ((delta: ModelDelta) => void) | undefined;
  /** Called at each wait before a try of the model. */
  readonly onWait?: OnWait | undefined;
  /** Called with each event of the turn as it is recorded. */
  readonly onEvent?: ((event: EventBody) => void) | undefined;
  readonly span?: TraceSpan | undefined;
}

/** The result of a turn. A failure is a value: the session keeps the completed steps, and the turn can be resumed. */
export type TurnResult = TurnEnding & {
  readonly turn: number;
  /** One response for each completed step. */
  readonly responses: readonly ModelResponse[];
  /** Text of the last response; "" if it has none. */
  readonly answer: string;
};

export type TurnEnding =
  | { readonly status: 'answered' | 'max_steps' | 'length' }
  | { readonly status: 'failed'; readonly error: BoundaryError }
  | { readonly status: 'aborted'; readonly reason: unknown };

/** The ending of a turn that threw. @throws an internal error: one without a boundary, although nothing was aborted. */
export function toCutTurn(thrown: unknown, signal: AbortSignal): TurnEnding {
  // An agent that never began gets this error, no matter what ended the turn.
  if (thrown instanceof BoundaryError && thrown.code === AGENT_WITHOUT_TOOLS)
    return { status: 'failed', error: thrown };
  const cause: unknown = signal.aborted ? signal.reason : thrown;
  // A lost environment is a failure, even if the turn was aborted because of it.
  if (cause instanceof BoundaryError) return { status: 'failed', error: cause };
  if (signal.aborted) return { status: 'aborted', reason: cause };
  throw thrown;
}

/** A recorder that also passes each event to a callback. */
export function tapRecorder(recorder: TurnRecorder, onEvent: TurnOptions['onEvent']): TurnRecorder {
  return {
    record: (event) => {
      recorder.record(event);
      onEvent?.(event);
    },
    settled: () => recorder.settled(),
    toStored: (value) => recorder.toStored(value),
  };
}
