import type { Command } from 'commander';
import { messageOf } from '../contract/errors.ts';
import { FormatError } from '../formats/imported-trace.ts';
import { Losses } from '../formats/losses.ts';
import { countText } from './amounts.ts';
import { describeLosses } from './export/describe-losses.ts';
import { SilentFailure } from './failure.ts';
import { howToOpen } from './how-to-open.ts';
import { importFile } from './import/import-file.ts';
import { openInstallation } from './installation.ts';
import { listenForStop } from './signals.ts';
import { colors, note, print, printable, printJson } from './terminal.ts';

export function addImportCommand(program: Command): void {
  program
    .command('import <files...>')
    .description(
      'Read traces that were made elsewhere: ATIF, logs of Inspect, results of verifiers, traces of Proctor.',
    )
    .option('--account <account>', 'whose they are', 'local')
    .option('--env <name>', 'their environment; default: as the file says')
    .option('--scenario <name>', 'their scenario; default: as the file says')
    .option('--score <name>', 'the scorer whose value is the reward; default: the first')
    .option('--json', 'print {"imported", "refused", "lost"}')
    .addHelpText(
      'after',
      `
A file is .json, .jsonl, .eval, or a folder of verifiers. It is read whole or refused: a refused file stores nothing, the
others are imported. A repeated import adds nothing. Addresses are never asked for, and images are read from files beneath
the folder of the file alone. Imported traces are on the pages and in comparisons; usage never counts them, and summaries
and datasets have them where --origin import is asked for.

Exit code: 0 when all were imported; 1 when a file was refused; 2 when the command is wrong.

Examples:
  $ proctor import logs/2026-11-20_popularity.eval
  $ proctor import trajectory.json --env terminal --scenario fix-build
  $ proctor import outputs/evals/math-python--gpt-4.1/ --json`,
    )
    .action(runImport);
}

interface ImportOptions {
  readonly account: string;
  readonly env?: string;
  readonly scenario?: string;
  readonly score?: string;
  readonly json?: boolean;
}

async function runImport(files: readonly string[], options: ImportOptions): Promise<void> {
  const { account, json = false, env: envName, scenario: scenarioName, score } = options;
  await using installation = await openInstallation();
  using stop = listenForStop(() => note('Stopping after the file that is being read.'));
  const losses = new Losses();
  const imported: { file: string; trace_ids: readonly string[] }[] = [];
  const refused: { file: string; error: string }[] = [];
  for (const file of files) {
    if (stop.signal.aborted) break;
    try {
      const read = await importFile(installation.database, file, {
        redactor: installation.store.redactor,
        account,
        envName,
        scenarioName,
        score,
      });
      losses.addAll(read.losses);
      imported.push({ file, trace_ids: read.traceIds });
      if (!json) print(`${printable(file)}: ${countText(read.traceIds.length, 'trace')}, ${read.added} of them new`);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      refused.push({ file, error: error.message });
      if (!json) note(`${printable(file)} is refused: ${printable(messageOf(error), 1_000)}`);
    }
  }
  const lost = losses.toList();
  if (json) printJson({ imported, refused, lost });
  else {
    for (const line of describeLosses(lost)) note(line);
    const traceIds = imported.flatMap(({ trace_ids }) => trace_ids);
    if (traceIds.length > 0) note(colors.dim(await howToOpen(traceIds, installation.settings.appUrl)));
  }
  if (refused.length > 0 || stop.signal.aborted) throw new SilentFailure();
}
