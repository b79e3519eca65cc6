import type { EvaluationDetail, Report } from '../../../contract/service/evaluation.ts';
import { cutToWidth, displayWidth, padToWidth } from '../../../support/text/display-width.ts';
import { shortfallsOf } from '../../../support/text/evaluation-figures.ts';
import {
  countText,
  durationText,
  grouped,
  moneyText,
  shareText,
  tokensText,
  withHalf,
} from '../../../support/text/figures.ts';
import { colors, printable } from '../../base/terminal.ts';
import { countDone, countMissing } from './outcome-words.ts';

export interface ProgressPage {
  /** Width of a line in cells. */
  readonly columns: number;
  /** Number of lines that fit. */
  readonly rows: number;
  readonly elapsedMs: number;
  /** Milliseconds that are left; undefined if unknown. */
  readonly leftMs: number | undefined;
}

/** Lines that do not belong to a model, with the line of the cursor. */
const OTHER_LINES = 5;
const BAR_CELLS = 16;
const SHORTEST_MODEL = 12;

/** The state of an evaluation as a table that fits in the terminal, one row for each model. */
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

function headOf(evaluation: EvaluationDetail, page: ProgressPage): string {
  const { name, evaluation_id, status, taskset } = evaluation;
  const shortfalls = shortfallsOf(evaluation);
  const state = status === 'running' ? `for ${durationText(page.elapsedMs)}` : [status, ...shortfalls].join(', ');
  const what = name ?? taskset.name;
  const title = cutToWidth(printable(what ?? evaluation_id, 80), Math.max(8, page.columns - state.length - 2));
  const id = what === null ? '' : `  ${evaluation_id}`;
  const hasRoom = displayWidth(`${title}${id}  ${state}`) <= page.columns;
  const paint = status === 'completed' && shortfalls.length === 0 ? colors.green : colors.yellow;
  const painted = status === 'running' ? colors.dim(state) : paint(state);
  return `${colors.bold(title)}${hasRoom ? colors.dim(id) : ''}  ${painted}`;
}

interface Cell {
  readonly text: string;
  readonly paint?: (text: string) => string;
}

interface Column {
  readonly head: string;
  /** Columns with a higher rank are dropped first if the terminal is too narrow. */
  readonly rank: number;
  readonly isLeft?: boolean;
  /** Least width in cells, so that columns do not move. */
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
    { head: 'pass rate', rank: 2, cell: ({ pass_rate }) => ({ text: shareText(pass_rate.value, pass_rate.ci95) }) },
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

/** Totals: `532 of 1,600 attempts, about 4 min left, 32 running, 2 reruns, $4.40 of $10.00`. */
function totalsOf({ progress, budget, status }: EvaluationDetail, { leftMs }: Pick<ProgressPage, 'leftMs'>): string {
  const { done, total, running, queued = 0, reruns, spent } = progress;
  const usdLimit = budget?.usd === undefined ? '' : ` of ${moneyText(budget.usd)}`;
  const tokenLimit = budget?.tokens === undefined ? '' : ` of ${tokensText(budget.tokens)}`;
  return [
    `${grouped(done)} of ${grouped(total)} attempts`,
    ...(status === 'running' && leftMs !== undefined && done < total
      ? [leftMs < 10_000 ? 'some seconds left' : `about ${durationText(leftMs)} left`]
      : []),
    ...(running > 0 ? [`${grouped(running)} running`] : []),
    ...(queued > 0 ? [`${grouped(queued)} queued`] : []),
    ...(reruns > 0 ? [countText(reruns, 'rerun')] : []),
    ...((spent.usd === null || spent.usd === 0) && usdLimit === '' ? [] : [`${moneyText(spent.usd)}${usdLimit}`]),
    ...(spent.tokens === 0 && tokenLimit === '' ? [] : [`${tokensText(spent.tokens)}${tokenLimit} tokens`]),
  ].join(', ');
}
