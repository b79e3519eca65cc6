import type { Command } from 'commander';
import { SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import { type Installation, openInstallation } from '../../service/runs/installation.ts';
import { startWorker, type Worker } from '../../service/runs/worker/worker.ts';
import {
  startWorkerHealth,
  type WorkerHealth,
  type WorkerHealthOptions,
} from '../../service/runs/worker/worker-health.ts';
import { UsageError } from '../base/failure.ts';
import { createLogger } from '../base/logger.ts';
import { collect, parsePort } from '../base/options.ts';
import { naming } from '../base/service.ts';
import { listenForStop, untilStopped } from '../base/signals.ts';
import { startTelemetry } from '../base/telemetry.ts';
import { colors, note, print, printJson } from '../base/terminal.ts';
import { endOrphanProcesses } from './end-orphans.ts';
import { addWorkerOptions, checkKnown, toWorkerSettings, type WorkerCommandOptions } from './worker-options.ts';

/** Share of the SIGTERM budget; the rest is for the database and the end of the process. */
const STOPPING_SHARE = 0.95;
const STOP_WITHIN_MS = SHUTDOWN_GRACE_MS.service * STOPPING_SHARE;

export function addWorkerCommand(program: Command): void {
  const command = program
    .command('worker')
    .description('Execute runs from a shared queue, without serving anything.')
    .option('--env <name>', 'take the runs of this environment alone; may be repeated', collect);
  addWorkerOptions(command)
    .option('--health-port <port>', 'answer /healthz, /readyz and /metrics there (default: nowhere)', parsePort)
    .option('--health-host <host>', 'address of that; beyond loopback only where there is a key', '127.0.0.1')
    .option('--json', 'print one JSON object once it takes runs')
    .addHelpText(
      'after',
      `
It takes runs that a "proctor serve" of the same database accepted, here or on other machines, with the same environments
under the same names. Start as many as you like; "proctor serve --no-worker" leaves all runs to them.

SIGTERM and Ctrl-C stop it in order, exit code 0: it takes nothing more and gives back what it executes, as a new attempt
that does not count. A worker that dies loses its runs to the others within half a minute.

Examples:
  $ proctor worker
  $ proctor worker --concurrency 8 --env-concurrency browser=2
  $ proctor worker --health-port 8322
  $ PROCTOR_DATABASE_URL=postgres://proctor@db.example/proctor proctor worker --env retail --env counter`,
    )
    .action(work);
}

interface WorkerOptions extends WorkerCommandOptions {
  readonly env?: readonly string[];
  readonly healthPort?: number;
  readonly healthHost: string;
  readonly json?: boolean;
}

async function work(options: WorkerOptions): Promise<void> {
  using stop = listenForStop(() => note('Stopping: runs are given back. Once more ends it at once.'));
  await using installation = await openInstallation();
  await using _telemetry = await startTelemetry({ ...installation, stop: stop.signal, warn: note });
  const { environments, settings } = installation;
  const names = chosenEnvironments(installation, options.env);
  if (settings.databaseUrl === 'sqlite::memory:') {
    throw new UsageError('A worker shares its database with a service: sqlite::memory: is one of this process alone.');
  }
  const logger = createLogger(process.stderr.isTTY ? 'warn' : 'info', installation.redactor);
  const clearing = endOrphanProcesses(stop.signal, logger);
  const worker = startWorker({
    ...installation,
    ...toWorkerSettings(options, environments),
    logger,
    onlyEnvironments: options.env && names,
  });
  let health: WorkerHealth | undefined;
  try {
    health = await startHealth(installation, options, { worker, logger, stopping: stop.signal });
    announce(worker, names, health, options);
    await untilStopped(stop.signal);
  } finally {
    await Promise.all([worker.stop(STOP_WITHIN_MS), clearing]);
    // Closed last, so that a monitor sees the worker alive but not ready until then.
    await health?.close(0);
  }
}

async function startHealth(
  { database, store, queue, accounts, settings, environments }: Installation,
  { healthPort: port, healthHost: host }: WorkerOptions,
  running: Pick<WorkerHealthOptions, 'worker' | 'logger' | 'stopping'>,
): Promise<WorkerHealth | undefined> {
  if (port === undefined) return undefined;
  const { allowedHosts } = settings;
  const parts = { database, store, queue, accounts, allowedHosts, environments };
  return await naming('--health-port', startWorkerHealth({ ...parts, ...running, host, port }));
}

function chosenEnvironments({ environments }: Installation, chosen: readonly string[] | undefined): readonly string[] {
  for (const name of chosen ?? []) checkKnown('--env', name, environments);
  return chosen === undefined ? [...environments.keys()] : [...new Set(chosen)];
}

function announce(
  { name, concurrency }: Worker,
  environments: readonly string[],
  health: WorkerHealth | undefined,
  { json }: WorkerOptions,
): void {
  if (json) {
    printJson({ worker: name, environments, concurrency, ...(health && { health_url: health.url }) });
    return;
  }
  print(`${colors.bold('Worker')}        ${name}`);
  print(`${colors.bold('At once')}       ${concurrency}`);
  print(`${colors.bold('Environments')}  ${environments.join(', ') || 'none found under environments/'}`);
  if (health !== undefined) print(`${colors.bold('Health')}        ${health.url}/readyz`);
}
