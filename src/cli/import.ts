import type { Command } from 'commander';
import { messageOf } from '../contract/errors.ts';
import { createFileBytes } from '../formats/file-bytes.ts';
import { IMPORT_LIMITS } from '../formats/import-limits.ts';
import { FormatError, type ReadContext, type ReadOptions } from '../formats/imported-trace.ts';
import { Losses } from '../formats/losses.ts';
import { readTraces } from '../formats/read-file.ts';
import { importedTraceId, importTraces, type TraceToImport } from '../trace/import-traces.ts';
import { countText } from './amounts.ts';
import { SilentFailure } from './failure.ts';
import { type Installation, openInstallation } from './installation.ts';
import { listenForStop } from './signals.ts';
import { note, print, printable, printJson } from './terminal.ts';

/** Traces that are written in one transaction. */
const BATCH = 50;

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
      const read = await importFile(installation, file, { account, envName, scenarioName, score });
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
  else for (const { field, count, why } of lost) note(`lost: ${printable(field)} (${count}): ${printable(why)}`);
  if (refused.length > 0 || stop.signal.aborted) throw new SilentFailure();
}

/** Twice through the file: the first time to see that all of it can be read. */
async function importFile(
  { database, store }: Installation,
  file: string,
  { account, ...options }: ReadOptions & { readonly account: string },
): Promise<{ readonly traceIds: readonly string[]; readonly added: number; readonly losses: Losses }> {
  const begin = (): ReadContext => ({ options, losses: new Losses(), bytesAt: createFileBytes(file, IMPORT_LIMITS) });
  for await (const _ of readTraces(file, begin()));
  const context = begin();
  const traceIds: string[] = [];
  const equal = new Map<string, number>();
  let added = 0;
  let batch: TraceToImport[] = [];
  const write = async () => {
    added += await importTraces(database, batch, { account, redactor: store.redactor });
    batch = [];
  };
  for await (const trace of readTraces(file, context)) {
    const first = importedTraceId(account, trace, 0);
    const count = equal.get(first) ?? 0;
    equal.set(first, count + 1);
    const traceId = count === 0 ? first : importedTraceId(account, trace, count);
    traceIds.push(traceId);
    batch.push({ traceId, trace });
    if (batch.length >= BATCH) await write();
  }
  await write();
  return { traceIds, added, losses: context.losses };
}
