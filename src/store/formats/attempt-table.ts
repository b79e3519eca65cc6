import type { EvaluationAttempt, EvaluationSummary } from '../../contract/service/evaluation.ts';

/** Formats of the attempt table, with the content types of their files. */
export const TABLE_TYPES = { csv: 'text/csv; charset=utf-8', jsonl: 'application/x-ndjson; charset=utf-8' } as const;
export type TableFormat = keyof typeof TABLE_TYPES;
export const TABLE_FORMATS = Object.keys(TABLE_TYPES) as readonly TableFormat[];

type Cell = string | number | boolean | null;
type Evaluation = Pick<EvaluationSummary, 'evaluation_id' | 'name'>;

/** The columns, in order. `docs/reference/attempt-table.md` explains each. */
const COLUMNS = {
  evaluation_id: (_, evaluation) => evaluation.evaluation_id,
  evaluation_name: (_, evaluation) => evaluation.name,
  task_id: ({ task_id }) => task_id,
  model: ({ model }) => model,
  attempt_index: ({ attempt_index }) => attempt_index,
  outcome: ({ outcome }) => outcome,
  reward: ({ reward }) => reward,
  // An attempt without a reward has no result: false would count it as a failure.
  passed: ({ passed, reward }) => (reward === null ? null : passed),
  steps: ({ steps }) => steps,
  duration_ms: ({ duration_ms }) => duration_ms,
  prompt_tokens: ({ usage }) => usage.prompt_tokens,
  completion_tokens: ({ usage }) => usage.completion_tokens,
  total_tokens: ({ usage }) => usage.total_tokens,
  cached_tokens: ({ usage }) => usage.cached_tokens,
  reasoning_tokens: ({ usage }) => usage.reasoning_tokens,
  cost_usd: ({ cost_usd }) => cost_usd,
  reruns: ({ reruns }) => reruns,
  seed: ({ seed }) => seed,
  error_boundary: ({ error }) => error?.boundary ?? null,
  error_code: ({ error }) => error?.code ?? null,
  error_message: ({ error }) => error?.message ?? null,
  trace_id: ({ trace_id }) => trace_id,
  trace_url: ({ trace_url }) => trace_url,
} as const satisfies Record<string, (attempt: EvaluationAttempt, evaluation: Evaluation) => Cell>;

export const TABLE_COLUMNS: readonly string[] = Object.keys(COLUMNS);

/** Writes attempts as a table: `head` once, then one line for each attempt. */
export interface AttemptTable {
  readonly head: string;
  toLine(attempt: EvaluationAttempt): string;
}

/**
 * Writes the attempts of an evaluation as CSV (RFC 4180), or as one flat JSON object per line. Both have the same
 * columns.
 */
export function createAttemptTable(format: TableFormat, evaluation: Evaluation): AttemptTable {
  const cellsOf = (attempt: EvaluationAttempt) =>
    Object.entries(COLUMNS).map(([name, read]): readonly [string, Cell] => [name, read(attempt, evaluation)]);
  if (format === 'jsonl') {
    return { head: '', toLine: (attempt) => `${JSON.stringify(Object.fromEntries(cellsOf(attempt)))}\n` };
  }
  return {
    head: `${BYTE_ORDER_MARK}${toRow(TABLE_COLUMNS)}`,
    toLine: (attempt) => toRow(cellsOf(attempt).map(([, cell]) => cell)),
  };
}

/** Without the mark Excel reads UTF-8 as the machine's code page. pandas skips it. */
const BYTE_ORDER_MARK = '\u{FEFF}';

function toRow(cells: readonly Cell[]): string {
  return `${cells.map(toCsvCell).join(',')}\r\n`;
}

/** First characters that make a spreadsheet read a cell as a formula, including their full-width forms. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/u;
/** Characters that need quotes: some spreadsheets split at semicolons or tabs, and trim spaces around a cell. */
const QUOTED = /[",;\t\r\n]|^\s|\s$/u;

/** Puts an apostrophe before a text that a spreadsheet would run as a formula. Numbers stay unchanged. */
function toCsvCell(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell !== 'string') return String(cell);
  // CSV readers end a text at U+0000, and UTF-8 cannot hold half of a surrogate pair.
  const text = cell.replaceAll('\0', '\u{FFFD}').replaceAll(/\p{Surrogate}/gu, '\u{FFFD}');
  const inert = FORMULA.test(text) ? `'${text}` : text;
  return QUOTED.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}
