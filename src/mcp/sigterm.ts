import { SHUTDOWN_GRACE_MS } from '../contract/names.ts';

/** A server's action on SIGTERM, within the budget in milliseconds. It never rejects. */
export type Shutdown = (budgetMs: number) => Promise<void>;

/**
 * On SIGTERM runs what every server of this process has to do, once and within one budget, and exits with 0. A process
 * without servers meets SIGTERM as Node.js does. SIGINT is never touched.
 *
 * @returns takes `shutdown` out again.
 */
export function onSigterm(shutdown: Shutdown): () => void {
  if (shutdowns.size === 0) process.once('SIGTERM', shutDown);
  shutdowns.add(shutdown);
  return () => {
    shutdowns.delete(shutdown);
    if (shutdowns.size === 0) process.off('SIGTERM', shutDown);
  };
}

// A signal is the process's: however many servers it has, one of them must not end it under the others.
const shutdowns = new Set<Shutdown>();

function shutDown(): void {
  // Further signals change nothing: the budget ends it.
  process.on('SIGTERM', () => {});
  void Promise.all([...shutdowns].map((shutdown) => shutdown(SHUTDOWN_GRACE_MS.environment))).then(() =>
    process.exit(0),
  );
}
