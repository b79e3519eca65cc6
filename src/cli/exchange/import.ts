import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import type { Command } from 'commander';
import { ApiError, messageOf } from '../../contract/errors.ts';
import { LOCAL_ACCOUNT } from '../../contract/names.ts';
import { type ImportedTraces, type Loss, MAX_IMPORT_BYTES } from '../../contract/service/import.ts';
import { FormatError } from '../../store/formats/imported-trace.ts';
import { Losses } from '../../store/formats/losses.ts';
import { findTraceFile, readFactsBeside } from '../../store/formats/read-file.ts';
import { importFile } from '../../store/traces/import-file.ts';
import { countText } from '../../support/text/figures.ts';
import { SilentFailure } from '../base/failure.ts';
import { howToOpen } from '../base/how-to-open.ts';
import { parseServiceUrl } from '../base/options.ts';
import { openPlace, type Place } from '../base/place.ts';
import { listenForStop } from '../base/signals.ts';
import { colors, note, print, printable, printJson } from '../base/terminal.ts';
import { describeLosses } from './export/describe-losses.ts';

export function addImportCommand(program: Command): void {
  program
    .command('import <files...>')
    .description('Read traces of other tools: ATIF, Inspect logs, verifiers results, and traces of Proctor.')
    .option('--account <account>', `whose they are (default: "${LOCAL_ACCOUNT}"; at a service the account of the key)`)
    .option('--env <name>', 'their environment; default: as the file says')
    .option('--scenario <name>', 'their scenario; default: as the file says')
    .option('--score <name>', 'the scorer whose value is the reward; default: the first')
    .option('--service <url>', 'import into this run service, with the key of PROCTOR_API_KEY', parseServiceUrl)
    .option('--json', 'print {"imported", "refused", "lost"}')
    .addHelpText(
      'after',
      `
A file is .json, .jsonl, .eval, or a folder of verifiers. It is read whole or refused: a refused file stores nothing, the
others are imported. A last line that was cut off is named among what is lost, and those before it are read. results.jsonl
and its folder are the same: metadata.json beside it says environment and model. A repeated import adds nothing. Addresses are never asked for, and images are read from files beneath
the folder of the file alone. With --service a file is sent, of 64 MiB at most, and the images that it holds itself: those
beside it are named among what is lost. Imported traces are on the pages and in comparisons; usage never counts them, and summaries
and datasets have them where --origin import is asked for.

Exit code: 0 when all were imported; 1 when a file was refused; 2 when the command is wrong.

Examples:
  $ proctor import logs/2026-11-20_popularity.eval
  $ proctor import trajectory.json --env terminal --scenario fix-build
  $ proctor import outputs/evals/math-python--gpt-4.1/ --json
  $ PROCTOR_API_KEY=... proctor import logs/popularity.eval --service https://proctor.example`,
    )
    .action(runImport);
}

interface ImportOptions {
  readonly account?: string;
  readonly env?: string;
  readonly scenario?: string;
  readonly score?: string;
  readonly service?: string;
  readonly json?: boolean;
}

async function runImport(files: readonly string[], options: ImportOptions): Promise<void> {
  const { json = false } = options;
  await using place = await openPlace({ service: options.service, account: options.account });
  using stop = listenForStop(() => note('Stopping after the file that is being read.'));
  const losses = new Losses();
  const imported: { file: string; trace_ids: readonly string[] }[] = [];
  const refused: { file: string; error: string }[] = [];
  for (const file of files) {
    if (stop.signal.aborted) break;
    try {
      const { trace_ids, added, lost } = await importTo(place, file, options);
      for (const { field, why, count } of lost) losses.add(field, why, count);
      imported.push({ file, trace_ids });
      if (!json) print(`${printable(file)}: ${countText(trace_ids.length, 'trace')}, ${added} of them new`);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      refused.push({ file, error: messageOf(error) });
      if (!json) note(`${printable(file)} is refused: ${printable(messageOf(error), 1_000)}`);
    }
  }
  await tell(place, { imported, refused, lost: losses.toList() }, json);
  if (refused.length > 0 || stop.signal.aborted) throw new SilentFailure();
}

interface Outcome {
  readonly imported: readonly { readonly file: string; readonly trace_ids: readonly string[] }[];
  readonly refused: readonly { readonly file: string; readonly error: string }[];
  readonly lost: readonly Loss[];
}

async function tell({ here }: Place, outcome: Outcome, json: boolean): Promise<void> {
  if (json) return printJson(outcome);
  for (const line of describeLosses(outcome.lost)) note(line);
  const traceIds = outcome.imported.flatMap(({ trace_ids }) => trace_ids);
  if (traceIds.length === 0 || here === undefined) return;
  note(colors.dim(await howToOpen(traceIds, here.installation.settings.appUrl)));
}

/** Here the file itself is read, with the images beside it. */
async function importTo(
  { here, client }: Place,
  file: string,
  { account = LOCAL_ACCOUNT, env, scenario, score }: ImportOptions,
): Promise<Omit<ImportedTraces, 'type'>> {
  if (here === undefined) {
    const path = await findTraceFile(file, { fileBytes: MAX_IMPORT_BYTES });
    const facts = await readFactsBeside(path);
    const query = {
      env_name: env,
      scenario_name: scenario,
      score,
      metadata_env: facts.env,
      metadata_model: facts.model,
    };
    return await client.traces.import(Readable.toWeb(createReadStream(path)) as ReadableStream, query);
  }
  const { database, store } = here.installation;
  const options = { account, redactor: store.redactor, envName: env, scenarioName: scenario, score };
  const { traceIds, added, losses } = await importFile(database, file, options);
  return { trace_ids: traceIds, added, lost: losses.toList() };
}

/** True where one file alone is at fault: the others are imported. */
function isRefusal(error: unknown): boolean {
  if (error instanceof FormatError) return true;
  return error instanceof ApiError && (error.param === 'file' || error.code === 'request_too_large');
}
