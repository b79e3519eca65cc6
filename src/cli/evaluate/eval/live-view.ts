import type { EvaluationDetail } from '../../../contract/service/evaluation.ts';
import { PERIODS_MS } from '../../../support/runtime/periods.ts';
import { startTicker, type Ticker } from '../../../support/runtime/ticker.ts';
import { displayWidth } from '../../../support/text/display-width.ts';
import { Pace } from './pace.ts';
import { progressLine, progressTable } from './progress-lines.ts';

/** Shows the progress of an evaluation. */
export interface ProgressView extends Disposable {
  show(evaluation: EvaluationDetail): void;
  /** Prints a permanent line above the progress. */
  note(line: string): void;
}

/** The used part of a terminal or file stream. */
export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

export interface ViewOptions {
  readonly output: Output;
  /** True prints notes only. */
  readonly isQuiet?: boolean;
  readonly now?: () => number;
}

/**
 * Shows progress as a table that is redrawn on a terminal, or as one line for each change elsewhere. Disposing
 * leaves the last state.
 */
export function createProgressView({
  output,
  isQuiet = false,
  now = () => performance.now(),
}: ViewOptions): ProgressView {
  if (isQuiet) return new QuietView(output);
  return output.isTTY === true ? new LiveTable(output, now) : new LineView(output, now);
}

class QuietView implements ProgressView {
  readonly #output: Output;

  constructor(output: Output) {
    this.#output = output;
  }

  show(): void {}

  note(line: string): void {
    this.#output.write(`${line}\n`);
  }

  [Symbol.dispose](): void {}
}

const LINES_OF_AN_AGE = 30;

class LineView implements ProgressView {
  readonly #output: Output;
  readonly #now: () => number;
  readonly #pace: Pace;
  readonly #startedAt: number;
  #shownAt = Number.NEGATIVE_INFINITY;
  #shown = '';
  #latest: EvaluationDetail | undefined;

  constructor(output: Output, now: () => number) {
    this.#output = output;
    this.#now = now;
    this.#pace = new Pace(now);
    this.#startedAt = now();
  }

  show(evaluation: EvaluationDetail): void {
    this.#pace.add(evaluation.progress);
    this.#latest = evaluation;
    const now = this.#now();
    const age = (now - this.#startedAt) / LINES_OF_AN_AGE;
    const waitMs = Math.min(PERIODS_MS.longestEvaluationLines, Math.max(PERIODS_MS.evaluationLines, age));
    if (now - this.#shownAt >= waitMs) this.#print(evaluation);
  }

  note(line: string): void {
    this.#output.write(`${line}\n`);
  }

  [Symbol.dispose](): void {
    if (this.#latest !== undefined) this.#print(this.#latest);
  }

  /** Prints a line if the progress has changed; elapsed time alone does not count. */
  #print(evaluation: EvaluationDetail): void {
    const key = progressLine(evaluation, undefined);
    if (key === this.#shown) return;
    this.#shown = key;
    this.#shownAt = this.#now();
    this.#output.write(`${progressLine(evaluation, this.#pace.leftMs())}\n`);
  }
}

const NARROWEST = 20;
/** Clears the rest of a line after it was overwritten. */
const CLEAR_TO_END_OF_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

/** Redraws the table in one write over the old lines, to avoid flicker. */
class LiveTable implements ProgressView {
  readonly #output: Output;
  readonly #now: () => number;
  readonly #pace: Pace;
  readonly #startedAt: number;
  readonly #ticker: Ticker;
  readonly #onResize = () => this.#redraw(true);
  #lines: readonly string[] = [];
  #latest: EvaluationDetail | undefined;

  constructor(output: Output, now: () => number) {
    this.#output = output;
    this.#now = now;
    this.#pace = new Pace(now);
    this.#startedAt = now();
    this.#ticker = startTicker(() => this.#redraw(), PERIODS_MS.redraws);
    output.on('resize', this.#onResize);
  }

  show(evaluation: EvaluationDetail): void {
    this.#pace.add(evaluation.progress);
    this.#latest = evaluation;
    this.#redraw();
  }

  note(line: string): void {
    this.#output.write(`${this.#toTop()}${CLEAR_BELOW}${line}\n`);
    this.#lines = [];
    this.#redraw();
  }

  [Symbol.dispose](): void {
    this.#ticker.stop();
    this.#output.off('resize', this.#onResize);
    this.#redraw();
  }

  #redraw(isResized = false): void {
    if (this.#latest === undefined) return;
    const lines = progressTable(this.#latest, {
      // Some terminals wrap a line that fills the last column.
      columns: this.#columns() - 1,
      rows: this.#output.rows ?? 24,
      elapsedMs: this.#now() - this.#startedAt,
      leftMs: this.#pace.leftMs(),
    });
    const start = isResized ? `${this.#toTop()}${CLEAR_BELOW}` : this.#toTop();
    const text = lines.map((line) => `${line}${CLEAR_TO_END_OF_LINE}\n`).join('');
    this.#output.write(`${start}${text}${CLEAR_BELOW}`);
    this.#lines = lines;
  }

  /** Moves to the first line. A terminal that became narrower has wrapped the old lines. */
  #toTop(): string {
    const columns = this.#columns();
    const rows = this.#lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(displayWidth(line) / columns)), 0);
    return rows === 0 ? '' : `\r\u001b[${rows}A`;
  }

  #columns(): number {
    return Math.max(NARROWEST, this.#output.columns ?? 80);
  }
}
