import type { Logger } from 'pino';
import { endOrphans } from '../../environment/process/orphans.ts';

/** Ends environment processes that outlived a killed command. Called at the start of commands that execute runs. */
export async function endOrphanProcesses(signal: AbortSignal, logger: Logger): Promise<void> {
  const processes = await endOrphans(signal);
  if (processes > 0) logger.warn({ processes }, 'Processes whose worker was killed were left, and have been ended');
}
