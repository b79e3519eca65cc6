import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { resolveEnvironment } from '../config/find-environments.ts';
import type { CheckReport } from '../contract/check.ts';
import { NO_REDACTION } from '../redaction/redactor.ts';
import { CHECKS_ACCOUNT, checkEnvironments } from '../trust/check/check-environments.ts';
import { toCheckUrl } from '../trust/reports/read-report.ts';
import { saveReport } from '../trust/reports/save-report.ts';
import { createCheckView } from './check/check-view.ts';
import { toCheckJunit } from './check/junit.ts';
import { reportCheck } from './check/report-text.ts';
import { SilentFailure } from './failure.ts';
import { howToOpen } from './how-to-open.ts';
import { type Installation, openInstallation } from './installation.ts';
import { parseNumber, wholeNumber } from './options.ts';
import { listenForStop } from './signals.ts';
import { colors, note, printJson } from './terminal.ts';

const MAX_TASKS = 10_000;
const MAX_TIMEOUT_SECONDS = 3_600;
const MAX_TIME_SECONDS = 86_400;

export function addCheckCommand(program: Command): void {
  program
    .command('check <environments...>')
    .description('Try to be paid by environments without solving anything, and tell what their rewards are worth.')
    .option('--scenario <name>', 'try this scenario alone')
    .option('--task <id>', 'try this task alone')
    .option('--tasks <count>', 'tasks of each scenario that are tried (default 5)', wholeNumber(1, MAX_TASKS))
    .option('--seed <seed>', 'picks the tasks, and seeds environments and agents (default 0)', wholeNumber(0))
    .option('--pass-threshold <reward>', 'a reward from here on passes (default 1)', parseNumber)
    .option(
      '--timeout <seconds>',
      'time for the start of a session, its setup, each call and its evaluation (default 30)',
      wholeNumber(1, MAX_TIMEOUT_SECONDS),
    )
    .option(
      '--max-time <seconds>',
      'time for an environment: what is not tried by then is named in the report (default 300)',
      wholeNumber(1, MAX_TIME_SECONDS),
    )
    .option('--json', 'print one JSON object')
    .option('--junit <file>', 'write a JUnit document: a testsuite for each environment, a testcase for each finding')
    .addHelpText(
      'after',
      `
An environment is a name (environments/<name> of this directory, or of proctor.config.ts), the path of a module, or a URL.
It is started as a run would start it. Tasks are those that its scenarios declare, else arguments that fit their schemas.

It plays the solutions, and agents that solve nothing: that do nothing, call tools by chance, say the prompt again, or cheat.
It plays sessions twice, beside each other and one after the other, changes the solutions, and looks at what is left behind.
Where sessions take seconds, it tries less with each task, and says so.
Nothing of it is counted in summaries. The report and the traces that its findings show are stored, and have pages.

Exit code: 0 without errors, with warnings too; 1 with errors; 2 when the command is wrong, and nothing was tried.

Examples:
  $ proctor check counter
  $ proctor check counter retail --tasks 20 --junit check.xml
  $ proctor check retail --scenario conversation --task talk-6
  $ proctor check ./my/environment.ts --timeout 120 --max-time 1800 --json`,
    )
    .action(check);
}

interface CheckCommandOptions {
  readonly scenario?: string;
  readonly task?: string;
  readonly maxTime?: number;
  readonly tasks?: number;
  readonly seed?: number;
  readonly passThreshold?: number;
  readonly timeout?: number;
  readonly json?: boolean;
  readonly junit?: string;
}

async function check(names: readonly string[], options: CheckCommandOptions): Promise<void> {
  const { tasks, seed, passThreshold, timeout, maxTime, scenario, task, junit } = options;
  await using installation = await openInstallation();
  const environments = names.map((typedName) => ({
    ...resolveEnvironment(typedName, installation.environments, installation.directory),
    typedName,
  }));
  using stop = listenForStop(() => note(colors.yellow('Stopping: environments are closed in order.')));
  using view = createCheckView();
  const { database, store } = installation;
  const faults: unknown[] = [];
  const report = await checkEnvironments(environments, {
    ...{ tasks, seed, passThreshold, signal: stop.signal, store: { database, redactor: store.redactor } },
    onUnkept: (error) => void faults.push(error),
    limitMs: timeout === undefined ? undefined : timeout * 1_000,
    maxMs: maxTime === undefined ? undefined : maxTime * 1_000,
    only: { scenario, task },
    onProgress: view.show,
  });
  view.clear();
  if (options.json !== true) reportCheck(report, installation.settings.appUrl);
  // It has taken minutes: where one way of keeping it fails, the others are gone all the same.
  const keepFault = (error: unknown): undefined => {
    faults.push(error);
  };
  if (junit !== undefined) await writeFile(junit, toCheckJunit(report)).catch(keepFault);
  const stored = await storeReport(installation, report).catch(keepFault);
  if (options.json) printJson({ ...report, ...stored });
  else if (stored !== undefined) {
    note(colors.dim(stored.check_url));
    note(colors.dim(await howToOpen([stored.check_id], installation.settings.appUrl)));
  }
  const [fault] = faults;
  if (fault !== undefined) throw fault;
  if (report.counts.error > 0) throw new SilentFailure();
}

async function storeReport({ database, settings, redactor }: Installation, report: CheckReport) {
  const secrets = settings.redact ? redactor : NO_REDACTION;
  const options = { database, redactor: secrets, account: CHECKS_ACCOUNT, now: Date.now };
  const checkId = await saveReport(options, report);
  return { check_id: checkId, check_url: toCheckUrl(settings.appUrl, checkId) };
}
