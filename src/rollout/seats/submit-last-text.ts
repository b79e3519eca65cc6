import { ApiError } from '../../contract/errors.ts';
import type { HeldSeat } from './seats.ts';

/**
 * Ends a seat from outside, with the last text of its model as the answer.
 *
 * @throws ApiError missing_required_parameter if there is no text to submit, with the reason; run_finished if the run
 *   was over already.
 */
export function submitLastText({ traceId, seat, answer, request }: HeldSeat): void {
  const why =
    request.model === null
      ? 'this agent brings its own model, so that no text of it was seen here that could be submitted'
      : answer === 'tool'
        ? 'the seat takes an answer by submit_answer alone ("answer": "tool")'
        : seat.agent.lastText === null
          ? 'the model of this agent has said nothing yet that could be submitted'
          : undefined;
  if (why !== undefined) {
    throw new ApiError('missing_required_parameter', `answer is required: ${why}.`, { param: 'answer' });
  }
  if (!seat.agent.end('answered')) {
    throw new ApiError('run_finished', `The seat of trace ${traceId} is closed: another answer came first.`);
  }
}
