import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { ApiError } from '../../contract/errors.ts';
import { CHECK_LIMITS, type CheckEvent, type CheckReport } from '../../contract/service/check.ts';
import { shellQuoted } from '../../support/text/shell-quote.ts';
import { SilentFailure } from '../base/failure.ts';
import { howToOpen } from '../base/how-to-open.ts';
import { parseNumber, parseServiceUrl, wholeNumber } from '../base/options.ts';
import { openPlace, type Place } from '../base/place.ts';
import { listenForStop } from '../base/signals.ts';
import { colors, note, printJson } from '../base/terminal.ts';
import { createCheckView } from './check/check-view.ts';
import { toCheckJunit } from './check/junit.ts';
import { describeUntried, reportCheck } from './check/report-text.ts';

export function addCheckCommand(program: Command): void {
  program
    .command('check <environments...>')
    .description('Look for ways to get a reward without solving the task, and for rewards that say little.')
    .option('--scenario <name>', 'try this scenario alone')
    .option('--task <id>', 'try this task alone')
    .option('--tasks <count>', 'tasks of each scenario that are tried (default 5)', wholeNumber(1, CHECK_LIMITS.tasks))
    .option('--seed <seed>', 'picks the tasks, and seeds environments and agents (default 0)', wholeNumber(0))
    .option('--pass-threshold <reward>', 'a reward from here on passes (default 1)', parseNumber)
    .option(
      '--timeout <seconds>',
      'time for the start of a session, its setup, each call and its evaluation (default 30)',
      wholeNumber(1, CHECK_LIMITS.timeoutSeconds),
    )
    .option(
      '--max-time <seconds>',
      'time for an environment: what is not tried by then is named in the report (default 300)',
      wholeNumber(1, CHECK_LIMITS.maxTimeSeconds),
    )
    .option('--strict', 'fail, too, when a finding was not tried or not to the end')
    .option('--service <url>', 'check at this run service, with the key of PROCTOR_API_KEY', parseServiceUrl)
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
With --service the service starts the environments, which have their names there: a path or an address is refused. Ctrl-C
ends the check there too. An account has one check at a time.

Exit code: 0 without errors, with warnings too; 1 with errors, with --strict also for what was not tried; 2 when the command is wrong, and nothing was tried.

Examples:
  $ proctor check counter
  $ proctor check counter retail --tasks 20 --junit check.xml
  $ proctor check counter --strict
  $ proctor check retail --scenario conversation --task talk-6
  $ proctor check ./my/environment.ts --timeout 120 --max-time 1800 --json
  $ PROCTOR_API_KEY=... proctor check counter --service https://proctor.example`,
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
  readonly service?: string;
  readonly json?: boolean;
  readonly junit?: string;
}

async function check(names: readonly string[], options: CheckCommandOptions): Promise<void> {
  const { service, json = false, strict: isStrict = false, junit } = options;
  using stop = listenForStop(() => note(colors.yellow('Stopping: environments are closed in order.')));
  await using place = await openPlace({ service, environments: names });
  const { report, check_id, check_url, unstored } = await checkAt(place, options, stop.signal);
  const appUrl = addressOfPages(place, check_id, check_url);
  if (!json) reportCheck(report, appUrl);
  const faults: unknown[] = unstored.map(({ code, message }) => new ApiError(code, message));
  // A check takes minutes, so a failed way to write the report does not stop the others.
  if (junit !== undefined)
    await writeFile(junit, toCheckJunit(report, { isStrict })).catch((fault: unknown) => void faults.push(fault));
  const stored = check_id === null || check_url === null ? undefined : { check_id, check_url };
  if (json) printJson({ ...report, ...stored });
  else if (stored !== undefined) {
    note(colors.dim(stored.check_url));
    if (service === undefined) note(colors.dim(await howToOpen([stored.check_id], appUrl)));
  }
  const [fault] = faults;
  if (fault !== undefined) throw fault;
  const gap = isStrict ? describeUntried(report) : undefined;
  if (gap !== undefined) note(colors.red(gap));
  if (report.counts.error > 0 || gap !== undefined) throw new SilentFailure();
}

type Checked = Extract<CheckEvent, { readonly type: 'report' }>;

async function checkAt(
  { client, environments, service }: Place,
  options: CheckCommandOptions,
  signal: AbortSignal,
): Promise<Checked> {
  const { scenario, task, tasks, seed, passThreshold, timeout, maxTime } = options;
  const request = {
    environments: [...new Set(environments)],
    scenario,
    task,
    tasks,
    seed,
    pass_threshold: passThreshold,
    timeout_seconds: timeout,
    max_time_seconds: maxTime,
  };
  using view = createCheckView();
  for await (const event of client.checks.run(request, { signal })) {
    if (event.type === 'progress') view.show(event);
    else if (event.type === 'report') return { ...event, report: withService(event.report, service) };
  }
  throw new Error('The service sent no report of the check.');
}

/** Commands that show a finding again are for the same service. */
function withService(report: CheckReport, service: string | undefined): CheckReport {
  if (service === undefined) return report;
  const environments = report.environments.map((environment) => ({
    ...environment,
    findings: environment.findings.map((finding) => ({
      ...finding,
      reproduce: `${finding.reproduce} --service ${shellQuoted(service)}`,
    })),
  }));
  return { ...report, environments };
}

function addressOfPages({ here, service = '' }: Place, checkId: string | null, checkUrl: string | null): string {
  if (here !== undefined) return here.installation.settings.appUrl;
  const path = `/checks/${checkId}`;
  return checkUrl?.endsWith(path) ? checkUrl.slice(0, -path.length) : service;
}
