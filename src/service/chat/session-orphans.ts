import { failOrphan } from '../../rollout/fail-orphan.ts';
import type { TraceStore } from '../../store/traces/trace-store.ts';
import type { SessionRecords } from './session-records.ts';

/** Fails the active sessions of servers that no longer run, since their environments died too. @returns how many. */
export async function failOrphans(records: SessionRecords, store: TraceStore): Promise<number> {
  const orphans = await records.lease.gone();
  for (const id of orphans) {
    const orphan = await records.find(id);
    if (orphan?.status !== 'active') continue; // Another server has ended it meanwhile.
    const message = 'The server that held the session ended; its environment is gone';
    await failOrphan(store, orphan.traceId, message);
    const trace = await store.trace(orphan.traceId);
    const { turns, steps } = { turns: trace?.turns.length ?? 0, steps: trace?.steps.length ?? 0 };
    await records.end(id, { ...orphan, status: 'failed', message, turns, steps });
  }
  return orphans.length;
}
