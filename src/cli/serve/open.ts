import { spawn } from 'node:child_process';
import type { Command } from 'commander';
import { ApiError } from '../../contract/errors.ts';
import { LOCAL_ACCOUNT, TRACE_ID_PATTERN } from '../../contract/names.ts';
import { CHECK_ID_PATTERN } from '../../contract/service/check.ts';
import { EVALUATION_ID_PATTERN } from '../../contract/service/evaluation.ts';
import { REGRADE_ID_PATTERN } from '../../contract/service/regrade.ts';
import { findReport } from '../../evaluation/checks/reports/read-report.ts';
import { findEvaluation } from '../../evaluation/evaluations/evaluation-rows.ts';
import { findRegrade } from '../../evaluation/replays/regrade/read-regrade.ts';
import { type Installation, openInstallation } from '../../service/runs/installation.ts';
import { parsePort } from '../base/options.ts';
import { probeServer } from '../base/probe-server.ts';
import { hasSameDatabase, signedInAddress } from '../base/signed-in-address.ts';
import { colors, note, print, printable, printJson } from '../base/terminal.ts';

export function addOpenCommand(program: Command): void {
  program
    .command('open [id]')
    .description('Print an address that opens the pages in a browser, signed in.')
    .option('--port <port>', 'where the service listens, when it was started with --port', parsePort)
    .option('--browser', 'open it in the default browser too')
    .option('--json', 'print {"address"}')
    .addHelpText(
      'after',
      `
The id is that of a trace, of an evaluation, of the report of a check or of a regrade; without one it is the page of all runs.

The address holds a token, so that nothing is printed where something other than Proctor listens: exit code 1 then. Where
nothing listens the address is printed all the same: it is good for 15 minutes.

Examples:
  $ proctor open
  $ proctor open 4bf92f3577b34da6a3ce929d0e0e4736 --browser
  $ proctor open eval_4bf92f3577b34da6a3ce929d0e0e4736`,
    )
    .action(open);
}

async function open(
  id: string | undefined,
  { port, ...options }: { readonly port?: number; readonly browser?: boolean; readonly json?: boolean },
): Promise<void> {
  await using installation = await openInstallation(port === undefined ? {} : { port });
  const path = id === undefined ? '/' : await pathOf(installation, id);
  const { appUrl } = installation.settings;
  const found = await probeServer(appUrl);
  if (found.kind === 'stranger') throw new Error(describeStranger(appUrl, found.description));
  if (found.kind === 'proctor' && !(await hasSameDatabase(installation, appUrl))) throw new Error(otherProject(appUrl));
  const address = await signedInAddress(installation, { path });
  if (options.json) printJson({ address });
  else print(address);
  if (found.kind === 'nothing') note(colors.yellow(`Nothing answers at ${appUrl}: start it with "proctor serve".`));
  if (options.browser) openBrowser(address);
}

async function pathOf(installation: Installation, id: string): Promise<string> {
  if (EVALUATION_ID_PATTERN.test(id)) {
    await findEvaluation(installation.database.kysely, LOCAL_ACCOUNT, id);
    return `/evaluations/${id}`;
  }
  if (CHECK_ID_PATTERN.test(id)) {
    await findReport(installation.database.kysely, LOCAL_ACCOUNT, id);
    return `/checks/${id}`;
  }
  if (REGRADE_ID_PATTERN.test(id)) {
    await findRegrade(installation.database, { account: LOCAL_ACCOUNT, jobId: id });
    return `/regrades/${id}`;
  }
  await checkTrace(installation, id);
  return `/traces/${id}`;
}

/** Checks that the account `local` owns the trace, since the address signs in as that account. */
async function checkTrace({ store, settings }: Installation, traceId: string): Promise<void> {
  const row = TRACE_ID_PATTERN.test(traceId) ? await store.row(traceId) : undefined;
  if (row === undefined) {
    throw new ApiError('trace_not_found', `There is no trace ${JSON.stringify(traceId)} in ${settings.databaseUrl}.`);
  }
  if (row.account === LOCAL_ACCOUNT) return;
  throw new ApiError(
    'trace_not_found',
    `The trace ${traceId} belongs to the account "${row.account}": sign in at ${settings.appUrl} with a key of that account.`,
  );
}

/** The token signs in as `local`, so it must not be sent to another program. */
function describeStranger(appUrl: string, description: string): string {
  return (
    `What listens at ${appUrl} is not Proctor: ${printable(description)}. No address was made, since it holds a token. ` +
    'Name the port of "proctor serve" with --port, or its address with PROCTOR_APP_URL.'
  );
}

/** Error for a server with another database: it would ask to sign in again and again. */
function otherProject(appUrl: string): string {
  return (
    `The Proctor at ${appUrl} has another database than this directory: it was started for another project. ` +
    'Run "proctor open" in the directory of that one. For the pages of this project start "proctor serve --port <port>" here, ' +
    'and name the same port: "proctor open --port <port>".'
  );
}

function openBrowser(address: string): void {
  const command = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const browser = spawn(command, [address], { stdio: 'ignore', detached: true });
  browser.once('error', () => note(`No browser could be opened with "${command}": open the address yourself.`));
  browser.unref();
}
