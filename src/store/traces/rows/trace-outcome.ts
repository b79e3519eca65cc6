import type { Boundary, RunErrorBody } from '../../../contract/error-shapes.ts';
import type { AGENT_WITHOUT_TOOLS, OVER_BUDGET } from '../../../contract/errors.ts';
import type { Outcome } from '../../../contract/service/outcome.ts';
import type { Trace } from '../../../contract/service/trace.ts';

type EndedTrace = Pick<Trace, 'status' | 'stop_reason' | 'error'>;

/** The parts of the model's last response that affect the outcome. */
export interface LastResponse {
  readonly finishReason: string | null;
  readonly isRefusal: boolean;
}

export interface OutcomeFacts {
  readonly trace: EndedTrace;
  /** Undefined when no model answered. */
  readonly lastResponse: LastResponse | undefined;
  /** True when the submitted answer does not match the required schema. */
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

/**
 * Outcomes of codes that override their boundary. The codes are literal texts because pages load this file, and should
 * not load the schemas beside the constants.
 */
const OUTCOME_OF_CODE: Readonly<Record<string, Outcome | undefined>> & CodesOfOutcomes = {
  over_budget: 'over_budget',
  agent_without_tools: 'invalid',
};

type CodesOfOutcomes = Readonly<Record<typeof OVER_BUDGET | typeof AGENT_WITHOUT_TOOLS, Outcome>>;

/** Outcome of a trace (contract section 7, "Outcome of a trace"); null until it ends. */
export function toOutcome({ trace, lastResponse, isAnswerUnfit }: OutcomeFacts): Outcome | null {
  switch (trace.status) {
    case 'queued':
    case 'running':
      return null;
    case 'cancelled':
      return 'cancelled';
    case 'failed':
      // An evaluation relies on the schema. When the answer breaks the schema, the failure is the agent's.
      return isAnswerUnfit && trace.error?.boundary === 'evaluate' ? 'agent_error' : ofError(trace.error);
    case 'completed':
      if (lastResponse !== undefined && isRefused(lastResponse)) return 'refused';
      if (trace.stop_reason !== 'answered') return 'limit';
      return isAnswerUnfit ? 'agent_error' : 'graded';
  }
}

/** The outcome of a failed run. A run without an error has lost its worker. */
function ofError(error: RunErrorBody | null): Outcome {
  if (error === null) return 'infra_error';
  return OUTCOME_OF_CODE[error.code] ?? OUTCOME_OF[error.boundary];
}

function isRefused({ finishReason, isRefusal }: LastResponse): boolean {
  return isRefusal || finishReason === 'content_filter';
}
