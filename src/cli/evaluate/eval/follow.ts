import { isAway, MAX_FAILURES, waitToRetry } from '../../../client/connection.ts';
import type { EvaluationsClient } from '../../../client/evaluations-client.ts';
import { isEnded } from '../../../contract/service/ended.ts';
import type { EvaluationDetail } from '../../../contract/service/evaluation.ts';
import type { ProgressView } from './live-view.ts';

/** Most of the time that reading may take, since the state of a large evaluation is slow to read. */
const SHARE_OF_READING = 0.5;
const SHORTEST_WAIT_SECONDS = 1;
const LONGEST_WAIT_SECONDS = 10;

/**
 * Shows an evaluation until it ends or the signal is aborted. It survives restarts of the service.
 *
 * @returns the last state. @throws Error if the evaluation is deleted or the service stays away.
 */
export async function followToEnd(
  evaluations: Pick<EvaluationsClient, 'get'>,
  evaluationId: string,
  view: ProgressView,
  stop: AbortSignal,
): Promise<EvaluationDetail> {
  let waitSeconds = 0;
  for (let failures = 0; ; ) {
    try {
      const startedAt = performance.now();
      const evaluation = await read(evaluations, evaluationId, waitSeconds, stop);
      const readMs = Math.max(0, performance.now() - startedAt - waitSeconds * 1_000);
      failures = 0;
      view.show(evaluation);
      if (isEnded(evaluation.status) || stop.aborted) return evaluation;
      const neededSeconds = Math.round(readMs / 1_000 / SHARE_OF_READING);
      waitSeconds = Math.min(LONGEST_WAIT_SECONDS, Math.max(SHORTEST_WAIT_SECONDS, neededSeconds));
    } catch (error) {
      if (stop.aborted) return await evaluations.get(evaluationId);
      if (!isAway(error) || ++failures > MAX_FAILURES) throw error;
      if (failures === 1) view.note('The service does not answer: trying again.');
      await waitToRetry(failures, stop).catch(() => {});
    }
  }
}

async function read(
  evaluations: Pick<EvaluationsClient, 'get'>,
  evaluationId: string,
  waitSeconds: number,
  signal: AbortSignal,
): Promise<EvaluationDetail> {
  try {
    return await evaluations.get(evaluationId, waitSeconds === 0 ? { signal } : { signal, waitSeconds });
  } catch (error) {
    if (!isGone(error)) throw error;
    throw new Error(`The evaluation ${evaluationId} is gone: it was deleted while it ran.`, { cause: error });
  }
}

function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'evaluation_not_found';
}
