import { type Command, Option } from 'commander';
import { type EvaluationStatus, type EvaluationSummary, evaluationStatusSchema } from '../../contract/evaluation.ts';
import { parseServiceUrl, wholeNumber } from '../options.ts';
import { colors, note, printable, printJson, printTable } from '../terminal.ts';
import { grouped, moneyText, withInterval } from './figures.ts';
import { openEvaluations, type PlaceOptions } from './open-evaluations.ts';

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

interface ListOptions extends PlaceOptions {
  readonly name?: string;
  readonly status?: EvaluationStatus;
  readonly limit?: number;
  readonly cursor?: string;
  readonly json?: boolean;
}

async function list({ service, json, ...query }: ListOptions): Promise<void> {
  await using evaluations = await openEvaluations(service === undefined ? {} : { service });
  const page = await evaluations.client.list(query);
  if (json) return printJson(page);
  if (page.data.length === 0) {
    return note('There are no evaluations like that: "proctor eval <taskset> --model <model>" makes one.');
  }
  printTable([['EVALUATION', 'MADE', 'STATE', 'DONE', 'MODEL', 'MEAN', 'COST', 'NAME'], ...page.data.flatMap(toRows)]);
  if (page.next_cursor !== null) note(colors.dim(`There are more: --cursor ${page.next_cursor}`));
}

/** Models of an evaluation that a list shows. */
const MAX_MODELS = 5;

/** A row for each model; those after the first say the model alone. */
function toRows(evaluation: EvaluationSummary): readonly (readonly string[])[] {
  const { evaluation_id, created_at, status, progress, reports, name, taskset } = evaluation;
  const shown = reports.slice(0, MAX_MODELS);
  const more = reports.length - shown.length;
  const rows = shown.map((report) => [
    printable(report.model, 28),
    withInterval(report.mean, report.ci95),
    moneyText(report.cost.total),
  ]);
  const [first = ['-', '-', '-'], ...others] = rows;
  const done = `${grouped(progress.done)}/${grouped(progress.total)}`;
  const called = printable(name ?? taskset.name ?? '-', 40);
  return [
    [evaluation_id, created_at.slice(0, 16).replace('T', ' '), status, done, ...first, called],
    ...others.map((cells) => ['', '', '', '', ...cells, '']),
    ...(more > 0 ? [['', '', '', '', `and ${more} more`, '', '', '']] : []),
  ];
}
