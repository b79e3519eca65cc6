import { type Command, Option } from 'commander';
import {
  type EvaluationStatus,
  type EvaluationSummary,
  evaluationStatusSchema,
} from '../../../contract/service/evaluation.ts';
import { shortfallsOf } from '../../../support/text/evaluation-figures.ts';
import { grouped, moneyText, NO_FIGURE, withInterval } from '../../../support/text/figures.ts';
import { parseServiceUrl, wholeNumber } from '../../base/options.ts';
import { openPlace, type PlaceOptions } from '../../base/place.ts';
import { colors, note, printable, printJson, printTable } from '../../base/terminal.ts';

export function addListCommand(command: Command): void {
  command
    .command('list')
    .description('List evaluations, newest first.')
    .option('--name <name>', 'with this name')
    .addOption(new Option('--status <status>', 'in this state').choices(evaluationStatusSchema.options))
    .option('--limit <count>', 'of one page, 1 to 100 (default 50)', wholeNumber(1, 100))
    .option('--cursor <cursor>', 'the page after this one, as the last page says')
    .option('--service <url>', 'evaluations of this run service, with the key of PROCTOR_API_KEY', parseServiceUrl)
    .option('--json', 'print {"object", "data", "next_cursor"}, as GET /v1/evaluations answers')
    .action(list);
}

interface ListOptions extends Pick<PlaceOptions, 'service'> {
  readonly name?: string;
  readonly status?: EvaluationStatus;
  readonly limit?: number;
  readonly cursor?: string;
  readonly json?: boolean;
}

async function list({ service, json, ...query }: ListOptions): Promise<void> {
  await using place = await openPlace({ service });
  const page = await place.client.evaluations.list(query);
  if (json) return printJson(page);
  if (page.data.length === 0) {
    return note('There are no evaluations like that: "proctor eval <taskset> --model <model>" makes one.');
  }
  printTable([['EVALUATION', 'MADE', 'STATE', 'DONE', 'MODEL', 'MEAN', 'COST', 'NAME'], ...page.data.flatMap(toRows)]);
  if (page.next_cursor !== null) note(colors.dim(`There are more: --cursor ${page.next_cursor}`));
}

/** Most models that a list shows for one evaluation. */
const MAX_MODELS = 5;

/** One row for each model. Only the first has the columns of the evaluation. */
function toRows(evaluation: EvaluationSummary): readonly (readonly string[])[] {
  const { evaluation_id, created_at, status, progress, reports, name, taskset } = evaluation;
  const shown = reports.slice(0, MAX_MODELS);
  const more = reports.length - shown.length;
  const rows = shown.map((report) => [
    printable(report.model, 28),
    withInterval(report.mean, report.ci95),
    moneyText(report.cost.total),
  ]);
  const [first = [NO_FIGURE, NO_FIGURE, NO_FIGURE], ...others] = rows;
  const done = `${grouped(progress.done)}/${grouped(progress.total)}`;
  const state = [status, ...shortfallsOf(evaluation)].join(', ');
  const called = printable(name ?? taskset.name ?? NO_FIGURE, 40);
  return [
    [evaluation_id, created_at.slice(0, 16).replace('T', ' '), state, done, ...first, called],
    ...others.map((cells) => ['', '', '', '', ...cells, '']),
    ...(more > 0 ? [['', '', '', '', `and ${more} more`, '', '', '']] : []),
  ];
}
