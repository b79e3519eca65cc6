import { SHUTDOWN_GRACE_MS } from '../../contract/names.ts';

/** A server's action on SIGTERM, with its limit in milliseconds. It never rejects. */
export type Shutdown = (budgetMs: number) => Promise<void>;

/**
 * Runs `shutdown` on SIGTERM, together with those of all servers in this process and within one limit, then exits with
 * 0. Without servers, SIGTERM has Node.js's default effect. SIGINT is not changed.
 *
 * @returns a function that removes `shutdown` again.
 */
export function onSigterm(shutdown: Shutdown): () => void {
  if (shutdowns.size === 0) process.once('SIGTERM', shutDown);
  shutdowns.add(shutdown);
  return () => {
    shutdowns.delete(shutdown);
    if (shutdowns.size === 0) process.off('SIGTERM', shutDown);
  };
}

// Module state, because a signal goes to the whole process: no server may end the process before the others are done.
const shutdowns = new Set<Shutdown>();

function shutDown(): void {
  // Further signals are ignored, because the time limit ends the process.
  process.on('SIGTERM', () => {});
  void Promise.all([...shutdowns].map((shutdown) => shutdown(SHUTDOWN_GRACE_MS.environment))).then(() =>
    process.exit(0),
  );
}
