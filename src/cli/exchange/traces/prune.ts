import { resolve } from 'node:path';
import { confirm, isCancel } from '@clack/prompts';
import { type Command, Option } from 'commander';
import { runStatusSchema } from '../../../contract/service/run.ts';
import {
  countPrunableReports,
  type PruneReportsQuery,
  pruneReports,
} from '../../../evaluation/checks/reports/remove-reports.ts';
import { type Installation, openInstallation } from '../../../service/runs/installation.ts';
import { type ReclaimedSpace, reclaimSpace } from '../../../store/database/sqlite/sqlite-upkeep.ts';
import { countPrunable, type PruneQuery, pruneTraces } from '../../../store/traces/prune-traces.ts';
import { bytesText, countText } from '../../../support/text/figures.ts';
import { SilentFailure, UsageError } from '../../base/failure.ts';
import { parseAge } from '../../base/moments.ts';
import { hereAlone, wholeNumber } from '../../base/options.ts';
import { listenForStop } from '../../base/signals.ts';
import { colors, note, print, printJson } from '../../base/terminal.ts';

const FINAL = runStatusSchema.exclude(['queued', 'running']).options;
/** Deleted traces between two progress lines. */
const TOLD_EVERY = 1_000;

export function addTracesPruneCommand(traces: Command): void {
  traces
    .command('prune')
    .description('Delete old traces for good, with their events and images, and give the space back.')
    .option('--older-than <age>', 'those that ended longer ago: 90s, 45m, 12h, 30d, 2w', parseAge)
    .option('--keep-last <count>', 'the newest stay, whatever their age', wholeNumber(1))
    .addOption(new Option('--status <status>', 'those in this state alone').choices(FINAL))
    .option('--env <name>', 'those of this environment alone')
    .option('--dry-run', 'say what would go, and delete nothing')
    .option('--yes', 'do not ask; required without a terminal')
    .option('--compact', 'write the whole SQLite file anew: stop the servers before')
    .addOption(hereAlone('Pruning keeps the database itself in order, with the traces of every account'))
    .option('--json', 'print {"matched", "deleted", "deleted_reports", "freed_bytes", "dry_run"}')
    .addHelpText(
      'after',
      `
It needs --older-than, --keep-last or both. Traces that are queued or running stay, and what GET /v1/usage tells of the
deleted ones stays too. Reports of checks go by the same age and number, unless --status or --env is given. A server may
go on meanwhile: a few are deleted at a time. Ctrl-C stops between two of these.

Exit code: 0 when what was asked for is done; 1 when it was stopped, or not confirmed; 2 when the command is wrong.

Examples:
  $ proctor traces prune --older-than 30d --dry-run
  $ proctor traces prune --older-than 30d --keep-last 1000 --yes
  $ proctor traces prune --older-than 2d --status failed --env counter`,
    )
    .action(prune);
}

interface PruneOptions {
  readonly olderThan?: number;
  readonly keepLast?: number;
  readonly status?: (typeof FINAL)[number];
  readonly env?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly compact?: boolean;
  readonly json?: boolean;
}

async function prune(options: PruneOptions): Promise<void> {
  const query = toQuery(options);
  const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
  if (options.dryRun !== true && options.yes !== true && (!isTerminal || options.json)) {
    throw new UsageError('Nobody can be asked here: say --yes to delete, or --dry-run to see what would go.');
  }
  await using installation = await openInstallation();
  const { count, oldestAt } = await countPrunable(installation.database, query);
  const reportsQuery = toReportsQuery(options, query);
  const reports = reportsQuery === undefined ? 0 : await countPrunableReports(installation.database, reportsQuery);
  const traces = `${countText(count, 'trace')}${oldestAt === null ? '' : `, the oldest of ${dayOf(oldestAt)}`}`;
  const matched = `${traces}${reports === 0 ? '' : `, and ${describeReports(reports)}`}`;
  if (options.dryRun) return report(options, { matched: count, deleted: 0, reports: 0 }, `Would delete ${matched}.`);
  if (count + reports === 0 && options.compact !== true) {
    return report(options, { matched: 0, deleted: 0, reports: 0 }, 'Nothing to delete.');
  }
  if (options.yes !== true) await askFirst(matched);

  using stop = listenForStop(() => note('Stopping after the batch that is being deleted.'));
  const deleted = await pruneTraces(installation.database, query, {
    signal: stop.signal,
    onRemoved: (total) => {
      if (options.json !== true && total % TOLD_EVERY === 0) note(colors.dim(`${total} of ${count} deleted`));
    },
  });
  const deletedReports =
    reportsQuery === undefined ? 0 : await pruneReports(installation.database, reportsQuery, stop.signal);
  const space = await giveBack(installation, options, stop.signal);
  const what = `${countText(deleted, 'trace')}${deletedReports === 0 ? '' : ` and ${describeReports(deletedReports)}`}`;
  report(options, { matched: count, deleted, reports: deletedReports, space }, describeDeletion(what, space));
  if (stop.signal.aborted) throw new SilentFailure();
}

function toQuery({ olderThan, keepLast, status, env }: PruneOptions): PruneQuery {
  if (olderThan === undefined && keepLast === undefined) {
    throw new UsageError('Say which: --older-than 30d, --keep-last 1000, or both.');
  }
  return {
    ...(olderThan === undefined ? {} : { before: Date.now() - olderThan }),
    ...(keepLast === undefined ? {} : { keepLast }),
    ...(status === undefined ? {} : { status }),
    ...(env === undefined ? {} : { envName: env }),
  };
}

/** Query for reports of checks. They have no status and several environments, so only age and number select them. */
function toReportsQuery(
  { status, env }: PruneOptions,
  { before, keepLast }: PruneQuery,
): PruneReportsQuery | undefined {
  if (status !== undefined || env !== undefined) return undefined;
  return { ...(before === undefined ? {} : { before }), ...(keepLast === undefined ? {} : { keepLast }) };
}

function describeReports(count: number): string {
  return countText(count, 'report of a check', 'reports of checks');
}

async function askFirst(matched: string): Promise<void> {
  const answer = await confirm({ message: `Delete ${matched}? Nothing brings them back.`, initialValue: false });
  if (isCancel(answer) || !answer) {
    note('Nothing was deleted.');
    throw new SilentFailure();
  }
}

/** Returns freed space of SQLite to the system. Postgres does this by itself. */
async function giveBack(
  { settings }: Installation,
  { compact = false }: PruneOptions,
  signal: AbortSignal,
): Promise<ReclaimedSpace | undefined> {
  if (!settings.databaseUrl.startsWith('sqlite:')) return undefined;
  return await reclaimSpace(resolve(settings.databaseUrl.slice('sqlite:'.length)), compact, signal);
}

function describeDeletion(what: string, space: ReclaimedSpace | undefined): string {
  const done = `Deleted ${what}`;
  if (space === undefined) return `${done}. Postgres keeps their space for new traces.`;
  if (space.keptBytes === 0) return `${done}; the file is ${bytesText(space.bytes)} smaller.`;
  const way = 'the file was made by an older version, and --compact shortens it';
  return `${done}; ${bytesText(space.keptBytes)} in the file are free and will be used again (${way}).`;
}

function report(
  { json = false, dryRun = false }: PruneOptions,
  {
    matched,
    deleted,
    reports,
    space,
  }: {
    readonly matched: number;
    readonly deleted: number;
    readonly reports: number;
    readonly space?: ReclaimedSpace | undefined;
  },
  text: string,
): void {
  if (json)
    printJson({ matched, deleted, deleted_reports: reports, freed_bytes: space?.bytes ?? null, dry_run: dryRun });
  else print(text);
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
