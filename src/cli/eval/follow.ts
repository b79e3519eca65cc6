import type { EvaluationDetail } from '../../contract/evaluation.ts';
import { isAway, MAX_FAILURES, waitToRetry } from '../../service-client/connection.ts';
import type { ProgressView } from './live-view.ts';
import type { Evaluations } from './open-evaluations.ts';

/** Reading the state of a large evaluation is work: it may take this share of the time. */
const SHARE_OF_READING = 0.5;
const SHORTEST_WAIT_SECONDS = 1;
const LONGEST_WAIT_SECONDS = 10;

export function hasEnded({ status }: Pick<EvaluationDetail, 'status'>): boolean {
  return status === 'completed' || status === 'cancelled';
}

/**
 * Shows an evaluation until it has ended or the signal is aborted, whatever restarts meanwhile.
 *
 * @returns its state then. @throws Error when it was deleted, or its service stays away.
 */
export async function followToEnd(
  evaluations: Pick<Evaluations, 'client'>,
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
      if (hasEnded(evaluation) || stop.aborted) return evaluation;
      const neededSeconds = Math.round(readMs / 1_000 / SHARE_OF_READING);
      waitSeconds = Math.min(LONGEST_WAIT_SECONDS, Math.max(SHORTEST_WAIT_SECONDS, neededSeconds));
    } catch (error) {
      if (stop.aborted) return await evaluations.client.get(evaluationId);
      if (!isAway(error) || ++failures > MAX_FAILURES) throw error;
      if (failures === 1) view.note('The service does not answer: trying again.');
      await waitToRetry(failures, stop).catch(() => {});
    }
  }
}

async function read(
  { client }: Pick<Evaluations, 'client'>,
  evaluationId: string,
  waitSeconds: number,
  signal: AbortSignal,
): Promise<EvaluationDetail> {
  try {
    return await client.get(evaluationId, waitSeconds === 0 ? { signal } : { signal, waitSeconds });
  } catch (error) {
    if (!isGone(error)) throw error;
    throw new Error(`The evaluation ${evaluationId} is gone: it was deleted while it ran.`, { cause: error });
  }
}

function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'evaluation_not_found';
}
