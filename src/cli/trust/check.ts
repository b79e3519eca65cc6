import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { CheckReport } from '../../contract/service/check.ts';
import { CHECKS_ACCOUNT, checkEnvironments } from '../../evaluation/checks/check-environments.ts';
import { toCheckUrl } from '../../evaluation/checks/reports/read-report.ts';
import { saveReport } from '../../evaluation/checks/reports/save-report.ts';
import { resolveEnvironment } from '../../service/config/find-environments.ts';
import { operatorKeys } from '../../service/config/known-secrets.ts';
import { type Installation, openInstallation } from '../../service/runs/installation.ts';
import { NO_REDACTION } from '../../support/redaction/redactor.ts';
import { SilentFailure } from '../base/failure.ts';
import { howToOpen } from '../base/how-to-open.ts';
import { hereAlone, parseNumber, wholeNumber } from '../base/options.ts';
import { listenForStop } from '../base/signals.ts';
import { colors, note, printJson } from '../base/terminal.ts';
import { createCheckView } from './check/check-view.ts';
import { toCheckJunit } from './check/junit.ts';
import { describeUntried, reportCheck } from './check/report-text.ts';

const MAX_TASKS = 10_000;
const MAX_TIMEOUT_SECONDS = 3_600;
const MAX_TIME_SECONDS = 86_400;

export function addCheckCommand(program: Command): void {
  program
    .command('check <environments...>')
    .description('Look for ways to get a reward without solving the task, and for rewards that say little.')
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
    .option('--strict', 'fail, too, when a finding was not tried or not to the end')
    .addOption(hereAlone('A check starts the processes of its environments'))
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
For each finding it says: found, tried and not found, or not tried and why. A user or judge that only a model could play is
stood in for by a fixed one, unless its task has a script.
Nothing of it is counted in summaries. The report and the traces that its findings show are stored, and have pages.

Exit code: 0 without errors, with warnings too; 1 with errors, with --strict also for what was not tried; 2 when the command is wrong, and nothing was tried.

Examples:
  $ proctor check counter
  $ proctor check counter retail --tasks 20 --junit check.xml
  $ proctor check counter --strict
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
  readonly strict?: boolean;
  readonly json?: boolean;
  readonly junit?: string;
}

async function check(names: readonly string[], options: CheckCommandOptions): Promise<void> {
  const { tasks, seed, passThreshold, timeout, maxTime, scenario, task, junit } = options;
  await using installation = await openInstallation();
  const environments = names.map((typedName) => ({
    ...resolveEnvironment(typedName, installation.environments, installation.directory, installation.settings.sandbox),
    typedName,
  }));
  using stop = listenForStop(() => note(colors.yellow('Stopping: environments are closed in order.')));
  using view = createCheckView();
  const { database, store } = installation;
  const faults: unknown[] = [];
  const report = await checkEnvironments(environments, {
    tasks,
    seed,
    passThreshold,
    signal: stop.signal,
    store: { database, redactor: store.redactor },
    keys: operatorKeys(installation.settings),
    onUnkept: (error) => void faults.push(error),
    limitMs: timeout === undefined ? undefined : timeout * 1_000,
    maxMs: maxTime === undefined ? undefined : maxTime * 1_000,
    only: { scenario, task },
    onProgress: view.show,
  });
  view.clear();
  if (options.json !== true) reportCheck(report, installation.settings.appUrl);
  // A check takes minutes, so a failed way to save the report does not stop the others.
  const keepFault = (error: unknown): undefined => {
    faults.push(error);
  };
  if (junit !== undefined)
    await writeFile(junit, toCheckJunit(report, { isStrict: options.strict === true })).catch(keepFault);
  const stored = await storeReport(installation, report).catch(keepFault);
  if (options.json) printJson({ ...report, ...stored });
  else if (stored !== undefined) {
    note(colors.dim(stored.check_url));
    note(colors.dim(await howToOpen([stored.check_id], installation.settings.appUrl)));
  }
  const [fault] = faults;
  if (fault !== undefined) throw fault;
  const gap = options.strict === true ? describeUntried(report) : undefined;
  if (gap !== undefined) note(colors.red(gap));
  if (report.counts.error > 0 || gap !== undefined) throw new SilentFailure();
}

async function storeReport({ database, settings, redactor }: Installation, report: CheckReport) {
  const secrets = settings.redact ? redactor : NO_REDACTION;
  const options = { database, redactor: secrets, account: CHECKS_ACCOUNT, now: Date.now };
  const checkId = await saveReport(options, report);
  return { check_id: checkId, check_url: toCheckUrl(settings.appUrl, checkId) };
}
