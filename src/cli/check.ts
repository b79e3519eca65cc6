import type { Command } from 'commander';
import { resolveEnvironment } from '../config/find-environments.ts';
import { checkEnvironments } from '../trust/check/check-environments.ts';
import { SilentFailure } from './failure.ts';
import { openInstallation } from './installation.ts';
import { parseNumber, wholeNumber } from './options.ts';
import { listenForStop } from './signals.ts';
import { colors, note, printJson } from './terminal.ts';

const MAX_TASKS = 10_000;
const MAX_TIMEOUT_SECONDS = 3_600;

export function addCheckCommand(program: Command): void {
  program
    .command('check <environments...>')
    .description('Try to be paid by environments without solving anything, and tell what their rewards are worth.')
    .option('--tasks <count>', 'tasks of each scenario that are tried (default 5)', wholeNumber(1, MAX_TASKS))
    .option('--seed <seed>', 'picks the tasks, and seeds environments and agents (default 0)', wholeNumber(0))
    .option('--pass-threshold <reward>', 'a reward from here on passes (default 1)', parseNumber)
    .option(
      '--timeout <seconds>',
      'time for the start of a session, its setup, each call and its evaluation (default 30)',
      wholeNumber(1, MAX_TIMEOUT_SECONDS),
    )
    .option('--json', 'print one JSON object')
    .action(check);
}

interface CheckCommandOptions {
  readonly tasks?: number;
  readonly seed?: number;
  readonly passThreshold?: number;
  readonly timeout?: number;
  readonly json?: boolean;
}

async function check(names: readonly string[], options: CheckCommandOptions): Promise<void> {
  const { tasks, seed, passThreshold, timeout } = options;
  await using installation = await openInstallation();
  using stop = listenForStop(() => note(colors.yellow('Stopping: environments are closed in order.')));
  const environments = names.map((typedName) => ({
    ...resolveEnvironment(typedName, installation.environments, installation.directory),
    typedName,
  }));
  const report = await checkEnvironments(environments, {
    ...{ tasks, seed, passThreshold, signal: stop.signal, store: installation.store },
    limitMs: timeout === undefined ? undefined : timeout * 1_000,
  });
  if (options.json) printJson(report);
  if (report.counts.error > 0) throw new SilentFailure();
}
