import { type Command, Option } from 'commander';
import { TRACE_ID_PATTERN } from '../contract/names.ts';
import { runStatusSchema } from '../contract/run.ts';
import { originSchema } from '../contract/trace.ts';
import { ATIF_VERSIONS, type AtifVersion } from '../formats/atif/write.ts';
import { EXPORT_FORMATS, type ExportFormat } from '../formats/format.ts';
import type { TraceQuery } from '../trace/trace-store.ts';
import { countText } from './amounts.ts';
import { findEvaluation, OR_A_TRACE } from './eval/find-evaluation.ts';
import { evaluationsOf } from './eval/open-evaluations.ts';
import { describeLosses } from './export/describe-losses.ts';
import { exportTraces } from './export/export-traces.ts';
import { UsageError } from './failure.ts';
import { type Installation, openInstallation } from './installation.ts';
import { parseNumber } from './options.ts';
import { listenForStop } from './signals.ts';
import { note, printJson } from './terminal.ts';
import { parseMoment } from './traces/moments.ts';

export function addExportCommand(program: Command): void {
  program
    .command('export [ids...]')
    .description('Write traces in a format of others: of runs, of evaluations, or of all that fit filters.')
    .addOption(new Option('--format <format>', 'how').choices(EXPORT_FORMATS).makeOptionMandatory())
    .option('--out <path>', 'the file, or for verifiers the folder; default: standard output')
    .addOption(new Option('--atif <version>', 'version of ATIF').choices(ATIF_VERSIONS).default('1.8'))
    .option('--env <name>', 'traces of this environment')
    .option('--scenario <name>', 'of this scenario')
    .option('--model <model>', 'of this model')
    .addOption(new Option('--status <status>', 'in this state').choices(runStatusSchema.options))
    .addOption(new Option('--origin <origin>', 'from here').choices(originSchema.options))
    .option('--min-reward <reward>', 'with a reward of at least this', parseNumber)
    .option('--since <time>', 'made since then: ISO 8601, or an age such as 12h or 30d', parseMoment)
    .option('--json', 'print {"written", "traces", "lost"}; needs --out')
    .addHelpText(
      'after',
      `
Traces are named by their ids, evaluations by their ids, names, or as last. A run that has not ended is refused. What a
format cannot hold is listed on standard error, a line for each field. Images stand in the file; with --format atif and
--out they are files beside it, in images/.

Exit code: 0 when it is written; 1 when not; 2 when the command is wrong.

Examples:
  $ proctor export 4bf92f3577b34da6a3ce929d0e0e4736 --format atif
  $ proctor export last --format inspect --out run.eval
  $ proctor export --env counter --min-reward 1 --format openai --out train.jsonl`,
    )
    .action(runExport);
}

interface ExportOptions {
  readonly format: ExportFormat;
  readonly out?: string;
  readonly atif: AtifVersion;
  readonly env?: string;
  readonly scenario?: string;
  readonly model?: string;
  readonly status?: TraceQuery['status'];
  readonly origin?: TraceQuery['origin'];
  readonly minReward?: number;
  readonly since?: number;
  readonly json?: boolean;
}

async function runExport(named: readonly string[], options: ExportOptions): Promise<void> {
  const { format, out, atif, json = false, env: envName, scenario: scenarioName, ...rest } = options;
  const given = { ...rest, envName, scenarioName };
  const filters = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as TraceQuery;
  if (out === undefined && json) throw new UsageError('--json prints what was written: name the file with --out.');
  if (out === undefined && format === 'verifiers') {
    throw new UsageError('--format verifiers writes a folder: name it with --out.');
  }
  await using installation = await openInstallation();
  using stop = listenForStop(() => note('Stopping; nothing is written.'));
  const { store } = installation;
  const ids = await findIds(named, installation);
  const report = await exportTraces(store, { named: ids, filters, format, out, atif, signal: stop.signal });
  if (json) return printJson({ written: out ?? null, traces: report.traces, lost: report.lost });
  for (const line of describeLosses(report.lost)) note(line);
  for (const line of report.skipped) note(line);
  if (out !== undefined) note(`Wrote ${countText(report.traces, 'trace')} to ${out}.`);
}

/** Ids of traces as they are, and of evaluations by what a person calls them. */
async function findIds(named: readonly string[], installation: Installation): Promise<readonly string[]> {
  const evaluations = { ...evaluationsOf(installation), [Symbol.asyncDispose]: async () => {} };
  return await Promise.all(
    named.map((name) => (TRACE_ID_PATTERN.test(name) ? name : findEvaluation(name, evaluations, OR_A_TRACE))),
  );
}
