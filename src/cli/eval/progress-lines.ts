import type { EvaluationDetail, Report } from '../../contract/evaluation.ts';
import { cutToWidth, displayWidth, padToWidth } from '../../text/display-width.ts';
import { countText } from '../amounts.ts';
import { colors, printable } from '../terminal.ts';
import { grouped, moneyText, shareText, spanText, tokensText, withHalf } from './figures.ts';
import { countDone, countMissing } from './outcome-words.ts';

export interface ProgressPage {
  /** Cells of a line. */
  readonly columns: number;
  /** Lines that there is room for. */
  readonly rows: number;
  readonly elapsedMs: number;
  /** Undefined while it cannot be said. */
  readonly leftMs: number | undefined;
}

/** Lines beside those of the models, that of the cursor among them. */
const OTHER_LINES = 5;
const BAR_CELLS = 16;
const SHORTEST_MODEL = 12;

/** The state of an evaluation as a table, a row for each model, that fits in the terminal. */
export function progressTable(evaluation: EvaluationDetail, page: ProgressPage): readonly string[] {
  const room = Math.max(1, page.rows - OTHER_LINES);
  const shown = evaluation.reports.slice(0, room);
  const left = evaluation.reports.length - shown.length;
  return [
    headOf(evaluation, page),
    ...tableOf(shown, page.columns),
    ...(left > 0 ? [colors.dim(`  and ${left} more models`)] : []),
    cutToWidth(`  ${totalsOf(evaluation, page)}`, page.columns),
  ];
}

/** The state of an evaluation in one line, for logs. */
export function progressLine(evaluation: EvaluationDetail, leftMs: number | undefined): string {
  const models = evaluation.reports.slice(0, MODELS_OF_A_LINE).map((report) => {
    const mean = report.mean === null ? 'no reward yet' : `mean ${withHalf(report.mean, report.ci95)}`;
    return `${printable(report.model, 40)} ${mean}`;
  });
  const more = evaluation.reports.length - models.length;
  const rest = more > 0 ? `; and ${more} more models` : '';
  return `${totalsOf(evaluation, { leftMs })}${models.length === 0 ? '' : `; ${models.join('; ')}${rest}`}`;
}

const MODELS_OF_A_LINE = 4;

function headOf({ name, evaluation_id, status, taskset }: EvaluationDetail, page: ProgressPage): string {
  const state = status === 'running' ? `for ${spanText(page.elapsedMs)}` : status;
  const what = name ?? taskset.name;
  const title = cutToWidth(printable(what ?? evaluation_id, 80), Math.max(8, page.columns - state.length - 2));
  const id = what === null ? '' : `  ${evaluation_id}`;
  const hasRoom = displayWidth(`${title}${id}  ${state}`) <= page.columns;
  const paint = status === 'completed' ? colors.green : colors.yellow;
  const painted = status === 'running' ? colors.dim(state) : paint(state);
  return `${colors.bold(title)}${hasRoom ? colors.dim(id) : ''}  ${painted}`;
}

interface Cell {
  readonly text: string;
  readonly paint?: (text: string) => string;
}

interface Column {
  readonly head: string;
  /** Columns with a higher number are left out first where there is no room. */
  readonly rank: number;
  readonly isLeft?: boolean;
  /** Cells that it has from the start, so that columns stay where they are. */
  readonly least?: number;
  cell(report: Report): Cell;
}

function columnsOf(reports: readonly Report[]): readonly Column[] {
  const most = Math.max(...reports.map(({ n_attempts }) => grouped(n_attempts).length));
  return [
    {
      head: 'done',
      rank: 1,
      least: 2 * most + 1,
      cell: (report) => ({ text: `${grouped(doneOf(report))}/${grouped(report.n_attempts)}` }),
    },
    { head: '', rank: 6, isLeft: true, cell: (report) => ({ text: barOf(report), paint: colors.cyan }) },
    {
      head: 'mean',
      rank: 0,
      isLeft: true,
      least: '0.00 ±0.00'.length,
      cell: (report) => ({ text: withHalf(report.mean, report.ci95) }),
    },
    { head: 'pass rate', rank: 2, cell: ({ pass_rate }) => ({ text: shareText(pass_rate.value) }) },
    { head: 'errors', rank: 3, cell: (report) => errorsCell(report) },
    { head: 'cost', rank: 4, least: '$0.0000'.length, cell: ({ cost }) => ({ text: moneyText(cost.total) }) },
  ];
}

function errorsCell(report: Report): Cell {
  const missing = countMissing(report.outcomes);
  return missing === 0 ? { text: '0', paint: colors.dim } : { text: grouped(missing), paint: colors.red };
}

function barOf(report: Report): string {
  const share = report.n_attempts === 0 ? 0 : doneOf(report) / report.n_attempts;
  const full = Math.floor(share * BAR_CELLS);
  return '█'.repeat(full) + '░'.repeat(BAR_CELLS - full);
}

function doneOf(report: Report): number {
  return countDone(report.outcomes);
}

function tableOf(reports: readonly Report[], width: number): readonly string[] {
  const names = reports.map(({ model }) => printable(model, 60));
  const longest = Math.max('model'.length, ...names.map(displayWidth));
  let columns = [...columnsOf(reports)];
  const cellsOf = ({ head, cell, least = 0 }: Column) =>
    Math.max(least, displayWidth(head), ...reports.map((report) => displayWidth(cell(report).text)));
  const roomFor = (chosen: readonly Column[]) => width - 2 - chosen.reduce((sum, each) => sum + cellsOf(each) + 2, 0);
  while (columns.length > 1 && roomFor(columns) < Math.min(longest, SHORTEST_MODEL * 2)) {
    const last = Math.max(...columns.map(({ rank }) => rank));
    columns = columns.filter(({ rank }) => rank !== last);
  }
  const forModel = Math.max(1, Math.min(longest, roomFor(columns)));
  const lineOf = (name: string, cellOf: (column: Column) => Cell) =>
    `  ${padToWidth(cutToWidth(name, forModel), forModel)}${columns
      .map((column) => `  ${aligned(cellOf(column), cellsOf(column), column.isLeft)}`)
      .join('')}`.trimEnd();
  const head = lineOf('model', ({ head }) => ({ text: head }));
  return [
    colors.dim(cutToWidth(head, width)),
    ...reports.map((report, index) => lineOf(names[index] ?? '', (column) => column.cell(report))),
  ];
}

function aligned({ text, paint = (plain) => plain }: Cell, cells: number, isLeft = false): string {
  const blanks = ' '.repeat(Math.max(0, cells - displayWidth(text)));
  return isLeft ? `${paint(text)}${blanks}` : `${blanks}${paint(text)}`;
}

/** `532 of 1,600 attempts, about 4 min left, 32 running, 2 reruns, $4.40 of $10.00` */
function totalsOf({ progress, budget, status }: EvaluationDetail, { leftMs }: Pick<ProgressPage, 'leftMs'>): string {
  const { done, total, running, reruns, spent } = progress;
  const usdLimit = budget?.usd === undefined ? '' : ` of ${moneyText(budget.usd)}`;
  const tokenLimit = budget?.tokens === undefined ? '' : ` of ${tokensText(budget.tokens)}`;
  return [
    `${grouped(done)} of ${grouped(total)} attempts`,
    ...(status === 'running' && leftMs !== undefined && done < total
      ? [leftMs < 10_000 ? 'some seconds left' : `about ${spanText(leftMs)} left`]
      : []),
    ...(running > 0 ? [`${grouped(running)} running`] : []),
    ...(reruns > 0 ? [countText(reruns, 'rerun')] : []),
    ...((spent.usd === null || spent.usd === 0) && usdLimit === '' ? [] : [`${moneyText(spent.usd)}${usdLimit}`]),
    ...(spent.tokens === 0 && tokenLimit === '' ? [] : [`${tokensText(spent.tokens)}${tokenLimit} tokens`]),
  ].join(', ');
}
