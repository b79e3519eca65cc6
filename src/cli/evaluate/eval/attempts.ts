import { type Command, Option } from 'commander';
import { type Outcome, outcomeSchema } from '../../../contract/service/outcome.ts';
import type { GradesQuery } from '../../../contract/service/replay.ts';
import { createAttemptTable, TABLE_FORMATS, type TableFormat } from '../../../store/formats/attempt-table.ts';
import { countText } from '../../../support/text/figures.ts';
import { evaluationsAt, findEvaluation } from '../../base/find-evaluation.ts';
import { byGrades, gradesOption, parseServiceUrl } from '../../base/options.ts';
import { writeText } from '../../base/output.ts';
import { openPlace, type PlaceOptions } from '../../base/place.ts';
import { listenForStop } from '../../base/signals.ts';
import { note } from '../../base/terminal.ts';

export function addAttemptsCommand(command: Command): void {
  command
    .command('attempts <evaluation>')
    .description('Write the attempts of an evaluation as a flat table, for a spreadsheet or pandas.')
    .addOption(new Option('--format <format>', 'how').choices(TABLE_FORMATS).default('csv'))
    .option('--out <file>', 'the file; default: standard output')
    .option('--model <model>', 'attempts of this model')
    .addOption(new Option('--outcome <outcome>', 'attempts that ended like this').choices(outcomeSchema.options))
    .addOption(gradesOption())
    .option('--service <url>', 'evaluations of this run service, with the key of PROCTOR_API_KEY', parseServiceUrl)
    .addHelpText(
      'after',
      `
The evaluation is an id, the beginning of one, a name, or "last". A row is an attempt, by task, model and number; those that
have not begun have rows too, without a trace. docs/reference/attempt-table.md says what each column holds. In CSV a text that
a spreadsheet would run as a formula has an apostrophe in front; jsonl has every text as it is.

Examples:
  $ proctor eval attempts last --out attempts.csv
  $ proctor eval attempts nightly --format jsonl --model gpt-5-mini`,
    )
    .action(attempts);
}

interface AttemptsOptions extends Pick<PlaceOptions, 'service'> {
  readonly format: TableFormat;
  readonly out?: string;
  readonly model?: string;
  readonly outcome?: Outcome;
  readonly grades?: GradesQuery;
}

/** Attempts of one request. */
const PAGE = 1_000;

async function attempts(named: string, options: AttemptsOptions): Promise<void> {
  const { format, out, model, outcome, grades, service } = options;
  await using place = await openPlace({ service });
  using stop = listenForStop(() => note('Stopping; no file is left half written.'));
  const evaluations = evaluationsAt(place);
  const { client } = evaluations;
  const evaluation = await client.get(await findEvaluation(named, evaluations));
  const table = createAttemptTable(format, evaluation);
  const query = {
    limit: PAGE,
    ...(model === undefined ? {} : { model }),
    ...(outcome === undefined ? {} : { outcome }),
    ...byGrades(grades),
  };
  let count = 0;
  async function* lines() {
    yield table.head;
    for await (const attempt of client.allAttempts(evaluation.evaluation_id, query)) {
      count += 1;
      yield table.toLine(attempt);
    }
  }
  await writeText(out, lines(), stop.signal);
  if (out !== undefined) note(`Wrote ${countText(count, 'attempt')} to ${out}.`);
}
