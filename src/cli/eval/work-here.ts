import { SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import { startWorker } from '../../run-service/worker.ts';
import type { Installation } from '../installation.ts';
import { createLogger } from '../logger.ts';
import type { PoolCommandOptions } from '../pool-options.ts';
import type { ProgressView } from './live-view.ts';

/** Share of the budget of SIGTERM; the rest is for the report and the database. */
const STOPPING_SHARE = 0.8;

/**
 * Begins the attempts of the database's evaluations and executes their runs in this process, beside others that do the same.
 * Disposing of it gives back the runs that it has.
 */
export function workOn(
  installation: Installation,
  options: PoolCommandOptions,
  view: Pick<ProgressView, 'note'>,
): AsyncDisposable {
  const { environments, redactor } = installation;
  const logger = createLogger('error', redactor, (line) => view.note(line.trimEnd()));
  const worker = startWorker({
    ...installation,
    logger,
    hosts: options.hosts,
    startTimeoutMs: options.startTimeoutMs,
    // Runs of environments that are not known here are for others.
    onlyEnvironments: [...environments.keys()],
  });
  return { [Symbol.asyncDispose]: () => worker.stop(SHUTDOWN_GRACE_MS.service * STOPPING_SHARE) };
}
