import type { Logger } from 'pino';
import { endOrphans } from '../process/orphans.ts';

/** At the start of what executes runs: ends what one before it left behind that was killed with all that watched over it. */
export async function endOrphanProcesses(signal: AbortSignal, logger: Logger): Promise<void> {
  const processes = await endOrphans(signal);
  if (processes > 0) logger.warn({ processes }, 'Processes whose worker was killed were left, and have been ended');
}
