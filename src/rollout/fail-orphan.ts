import { isEnded } from '../contract/service/ended.ts';
import { AttemptSupersededError, type TraceStore } from '../store/traces/trace-store.ts';
import { failedByWorker } from './session/run-endings.ts';

/** Ends the trace of a chat session or seat whose process is gone as failed, unless another server has ended it. */
export async function failOrphan(
  store: Pick<TraceStore, 'row' | 'append'>,
  traceId: string,
  message: string,
): Promise<void> {
  const row = await store.row(traceId);
  if (row === undefined || isEnded(row.status)) return;
  try {
    await store.append(traceId, row.attempt, [failedByWorker(message)]);
  } catch (error) {
    // Another server wrote the end between the read and the write.
    if (!(error instanceof AttemptSupersededError)) throw error;
  }
}
