import { AGENT_WITHOUT_TOOLS, type Boundary, OVER_BUDGET, type RunErrorBody } from '../contract/errors.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { Trace } from '../contract/trace.ts';

type EndedTrace = Pick<Trace, 'status' | 'stop_reason' | 'error'>;

/** The last response of the model, as far as it says how the trace ended. */
export interface LastResponse {
  readonly finishReason: string | null;
  readonly isRefusal: boolean;
}

export interface OutcomeFacts {
  readonly trace: EndedTrace;
  /** Undefined where no model has answered. */
  readonly lastResponse: LastResponse | undefined;
  /** A structured answer was asked for, and what was submitted is not of its schema. */
  readonly isAnswerUnfit: boolean;
}

const OUTCOME_OF: Readonly<Record<Boundary, Outcome>> = {
  model: 'model_error',
  environment: 'infra_error',
  tool: 'infra_error',
  worker: 'infra_error',
  setup: 'grader_error',
  evaluate: 'grader_error',
  agent: 'agent_error',
};

/** Codes that say more than their boundary. */
const OUTCOME_OF_CODE: Readonly<Record<string, Outcome | undefined>> = {
  [OVER_BUDGET]: 'over_budget',
  [AGENT_WITHOUT_TOOLS]: 'invalid',
};

/** How a trace ended (contract section 7, "Outcome of a trace"); null while it has not. */
export function toOutcome({ trace, lastResponse, isAnswerUnfit }: OutcomeFacts): Outcome | null {
  switch (trace.status) {
    case 'queued':
    case 'running':
      return null;
    case 'cancelled':
      return 'cancelled';
    case 'failed':
      // An evaluation expects what the schema says: that it failed of anything else is the agent's doing.
      return isAnswerUnfit && trace.error?.boundary === 'evaluate' ? 'agent_error' : ofError(trace.error);
    case 'completed':
      if (lastResponse !== undefined && isRefused(lastResponse)) return 'refused';
      if (trace.stop_reason !== 'answered') return 'limit';
      return isAnswerUnfit ? 'agent_error' : 'graded';
  }
}

/** A run that failed without saying where has lost its worker. */
function ofError(error: RunErrorBody | null): Outcome {
  if (error === null) return 'infra_error';
  return OUTCOME_OF_CODE[error.code] ?? OUTCOME_OF[error.boundary];
}

function isRefused({ finishReason, isRefusal }: LastResponse): boolean {
  return isRefusal || finishReason === 'content_filter';
}
