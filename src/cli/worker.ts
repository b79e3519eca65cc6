import type { Command } from 'commander';
import { SHUTDOWN_GRACE_MS } from '../contract/names.ts';
import { startWorker } from '../run-service/worker.ts';
import { UsageError } from './failure.ts';
import { type Installation, openInstallation } from './installation.ts';
import { endLeftovers } from './leftovers.ts';
import { createLogger } from './logger.ts';
import { collect } from './options.ts';
import { listenForStop, untilStopped } from './signals.ts';
import { startTelemetry } from './telemetry.ts';
import { colors, note, print, printJson } from './terminal.ts';
import { addWorkerOptions, checkKnown, toWorkerSettings, type WorkerCommandOptions } from './worker-options.ts';

/** Of the budget of a SIGTERM; the rest is for the database and for the end of the process. */
const STOPPING_SHARE = 0.95;

export function addWorkerCommand(program: Command): void {
  const command = program
    .command('worker')
    .description('Execute runs from the shared queue, and nothing else.')
    .option('--env <name>', 'take the runs of this environment alone; may be repeated', collect);
  addWorkerOptions(command)
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
  $ PROCTOR_DATABASE_URL=postgres://proctor@db.example/proctor proctor worker --env retail --env counter`,
    )
    .action(work);
}

interface WorkerOptions extends WorkerCommandOptions {
  readonly env?: readonly string[];
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
  const clearing = endLeftovers(stop.signal, logger);
  const worker = startWorker({
    ...installation,
    ...toWorkerSettings(options, environments),
    logger,
    onlyEnvironments: options.env && names,
  });
  try {
    announce(worker.name, names, worker.concurrency, options);
    await untilStopped(stop.signal);
  } finally {
    await Promise.all([worker.stop(SHUTDOWN_GRACE_MS.service * STOPPING_SHARE), clearing]);
  }
}

function chosenEnvironments({ environments }: Installation, chosen: readonly string[] | undefined): readonly string[] {
  for (const name of chosen ?? []) checkKnown('--env', name, environments);
  return chosen === undefined ? [...environments.keys()] : [...new Set(chosen)];
}

function announce(name: string, environments: readonly string[], concurrency: number, { json }: WorkerOptions): void {
  if (json) {
    printJson({ worker: name, environments, concurrency });
    return;
  }
  print(`${colors.bold('Worker')}        ${name}`);
  print(`${colors.bold('At once')}       ${concurrency}`);
  print(`${colors.bold('Environments')}  ${environments.join(', ') || 'none found under environments/'}`);
}
