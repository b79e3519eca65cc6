import { type Command, Option } from 'commander';
import { TRACE_ID_PATTERN } from '../../contract/names.ts';
import { runStatusSchema } from '../../contract/service/run.ts';
import { originSchema } from '../../contract/service/trace.ts';
import { ATIF_VERSIONS, type AtifVersion } from '../../store/formats/atif/write.ts';
import { EXPORT_FORMATS, type ExportFormat } from '../../store/formats/format.ts';
import { countText } from '../../support/text/figures.ts';
import { UsageError } from '../base/failure.ts';
import { findEvaluation, OR_A_TRACE } from '../base/find-evaluation.ts';
import { parseMoment } from '../base/moments.ts';
import { parseNumber } from '../base/options.ts';
import { openPlace, type Place } from '../base/place.ts';
import { listenForStop } from '../base/signals.ts';
import { note, printable, printJson } from '../base/terminal.ts';
import { describeLosses } from './export/describe-losses.ts';
import { exportTraces } from './export/export-traces.ts';
import { createTraceSource } from './export/trace-source.ts';
import { addPlaceOptions, type TracesPlaceOptions } from './traces/place-options.ts';
import { type TraceFilterOptions, toTraceQuery } from './traces/trace-filters.ts';

export function addExportCommand(program: Command): void {
  const command = program
    .command('export [ids...]')
    .description('Write traces in formats of other tools.')
    .addOption(new Option('--format <format>', 'how').choices(EXPORT_FORMATS).makeOptionMandatory())
    .option('--out <path>', 'the file, or for verifiers the folder; default: standard output')
    .addOption(new Option('--atif <version>', 'version of ATIF').choices(ATIF_VERSIONS).default('1.8'))
    .option('--env <name>', 'traces of this environment')
    .option('--scenario <name>', 'of this scenario')
    .option('--model <model>', 'of this model; with ids too')
    .addOption(new Option('--status <status>', 'in this state').choices(runStatusSchema.options))
    .addOption(new Option('--origin <origin>', 'from here').choices(originSchema.options))
    .option('--min-reward <reward>', 'with a reward of at least this', parseNumber)
    .option('--since <time>', 'made since then: ISO 8601, or an age such as 12h or 30d', parseMoment);
  addPlaceOptions(command)
    .option('--json', 'print {"written", "files", "traces", "lost"}; needs --out')
    .addHelpText(
      'after',
      `
Traces are named by their ids, evaluations by their ids, names, or as last. A run that has not ended is refused. What a
format cannot hold is listed on standard error, a line for each field. Images stand in the file; with --format atif and
--out they are files beside it, in images/.

A log of Inspect and a folder of verifiers have one model. Where the traces are of several, --out run.eval writes
run-<model>.eval for each, and standard output is refused; --model takes one of them.

Exit code: 0 when it is written; 1 when not; 2 when the command is wrong.

Examples:
  $ proctor export 4bf92f3577b34da6a3ce929d0e0e4736 --format atif
  $ proctor export last --format inspect --out run.eval
  $ proctor export last --format verifiers --model gpt-5-mini --out results
  $ proctor export --env counter --min-reward 1 --format openai --out train.jsonl`,
    )
    .action(runExport);
}

interface ExportOptions extends TracesPlaceOptions, TraceFilterOptions {
  readonly format: ExportFormat;
  readonly out?: string;
  readonly atif: AtifVersion;
  readonly json?: boolean;
}

async function runExport(named: readonly string[], options: ExportOptions): Promise<void> {
  const { format, out, atif, json = false } = options;
  if (out === undefined && json) throw new UsageError('--json prints what was written: name the file with --out.');
  if (out === undefined && format === 'verifiers') {
    throw new UsageError('--format verifiers writes a folder: name it with --out.');
  }
  using stop = listenForStop(() => note('Stopping; no file is left half written.'));
  await using place = await openPlace(options);
  const plan = { named: await findIds(named, place), filters: toTraceQuery(options), format, out, atif };
  const report = await exportTraces(createTraceSource(place.client), { ...plan, signal: stop.signal });
  const { files, traces, lost } = report;
  const [first, second] = files;
  if (json) return printJson({ written: second === undefined ? (first?.path ?? null) : null, files, traces, lost });
  for (const line of describeLosses(report.lost)) note(line);
  for (const line of report.skipped) note(line);
  for (const file of files) {
    const model = second === undefined ? '' : ` of ${printable(String(file.model))}`;
    note(`Wrote ${countText(file.traces, 'trace')}${model} to ${file.path}.`);
  }
}

/** Resolves names of evaluations to ids. Trace ids stay as they are. */
async function findIds(named: readonly string[], { client, service }: Place): Promise<readonly string[]> {
  const evaluations = { client: client.evaluations, service };
  return await Promise.all(
    named.map((name) => (TRACE_ID_PATTERN.test(name) ? name : findEvaluation(name, evaluations, OR_A_TRACE))),
  );
}
