import type { Logger } from 'pino';
import { failedByWorker } from '../rollout/run-endings.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import type { SessionRecords } from './session-records.ts';

export interface SessionWatchOptions {
  readonly records: SessionRecords;
  readonly store: TraceStore;
  readonly logger: Logger;
  /** Active sessions of this server. */
  count(): number;
}

/** How often a server says that it is there, and looks for those that are not. */
const BEAT_MS = 15_000;
const WATCH_MS = 30_000;

/** Makes `failed` what a server that is gone left active: its environments are gone. @returns how many. */
export async function failOrphans({ records, store }: Pick<SessionWatchOptions, 'records' | 'store'>): Promise<number> {
  const orphans = await records.listOrphans();
  for (const orphan of orphans) {
    const message = 'The server that held the session ended; its environment is gone';
    const row = await store.row(orphan.traceId);
    const isOpen = row?.status === 'queued' || row?.status === 'running';
    if (row !== undefined && isOpen) await store.append(orphan.traceId, row.attempt, [failedByWorker(message)]);
    const trace = await store.trace(orphan.traceId);
    const { turns, steps } = { turns: trace?.turns.length ?? 0, steps: trace?.steps.length ?? 0 };
    await records.end(orphan.id, { ...orphan, status: 'failed', message, turns, steps });
  }
  return orphans.length;
}

/** Says that the sessions of this server are alive. @returns the way to stop. */
export function startBeat({ records, logger, count }: Omit<SessionWatchOptions, 'store'>): () => void {
  const timer = setInterval(() => {
    if (count() === 0) return;
    records.beat().catch((error) => logger.error({ err: error }, 'A sign of life could not be written'));
  }, BEAT_MS).unref();
  return () => clearInterval(timer);
}

/** Fails the sessions of servers that go away from now on. @returns the way to stop. */
export function watchOrphans({ records, store, logger }: Omit<SessionWatchOptions, 'count'>): () => void {
  const timer = setInterval(() => {
    failOrphans({ records, store }).catch((error) =>
      logger.error({ err: error }, 'The end of a session whose server is gone could not be written'),
    );
  }, WATCH_MS).unref();
  return () => clearInterval(timer);
}
