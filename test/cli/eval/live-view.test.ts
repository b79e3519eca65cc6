import { EventEmitter } from 'node:events';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createProgressView, type Output } from '../../../src/cli/evaluate/eval/live-view.ts';
import { progressTable } from '../../../src/cli/evaluate/eval/progress-lines.ts';
import type { EvaluationDetail } from '../../../src/contract/service/evaluation.ts';
import { displayWidth } from '../../../src/support/text/display-width.ts';
import { evaluationOf, reportOf } from './evaluations.ts';

const MODELS = [
  reportOf('gpt-5-mini', { outcomes: { graded: 400, limit: 9, model_error: 3 } }),
  reportOf('some-provider/模型-with-a-very-long-name-2026-11-23-preview', { outcomes: { graded: 120 } }),
  reportOf('proctor/random', { outcomes: {}, mean: null, ci95: null, pass_rate: { value: null, ci95: null } }),
];

function running(done: number, more: Partial<EvaluationDetail> = {}): EvaluationDetail {
  const progress = { running: 32, reruns: 5, outcomes: {}, spent: { usd: 4.4, tokens: 2_400_000 } };
  return evaluationOf(MODELS, { status: 'running', progress: { done, total: 2_400, ...progress }, ...more });
}

const ESCAPE = String.fromCharCode(27);
const PARTS = new RegExp(`${ESCAPE}\\[\\d*[AKJ]|\\r|\\n|[^${ESCAPE}\\r\\n]+`, 'g');

/** A terminal with a screen, as far as the table uses one. */
class Terminal extends EventEmitter implements Output {
  readonly isTTY = true;
  readonly rows = 24;
  columns: number;
  lines: string[] = [''];
  #row = 0;

  constructor(columns: number) {
    super();
    this.columns = columns;
  }

  write(text: string): void {
    for (const part of text.match(PARTS) ?? []) this.#take(part);
  }

  resize(columns: number): void {
    // A terminal that gets narrower breaks its lines.
    this.lines = this.lines.flatMap((line) => line.match(new RegExp(`.{1,${columns}}`, 'gu')) ?? ['']);
    this.#row = this.lines.length - 1;
    this.columns = columns;
    this.emit('resize');
  }

  #take(part: string): void {
    if (part === '\n') {
      this.#row += 1;
      this.lines[this.#row] ??= '';
    } else if (part === '\u001b[J') this.lines = [...this.lines.slice(0, this.#row), ''];
    else if (part.endsWith('A')) this.#row -= Number(part.slice(2, -1));
    else if (part !== '\r' && part !== '\u001b[K') this.lines[this.#row] = part;
  }
}

describe('the live table', () => {
  it.each([40, 60, 80, 120, 200])('fits in %i columns, with model, mean and what is done', (columns) => {
    const page = { columns: columns - 1, rows: 24, elapsedMs: 190_000, leftMs: 250_000 };
    const lines = progressTable(running(532), page);
    expect(lines.filter((line) => displayWidth(line) >= columns)).toEqual([]);
    expect(lines.join('\n')).toContain('0.61 ±0.04');
    expect(lines.join('\n')).toContain('532 of 2,400 attempts, about 4 min');
    if (columns >= 60) expect(lines.join('\n')).toContain('412/800');
    expect(lines.join('\n').includes('█')).toBe(columns >= 120);
  });

  it('fits in the lines that there are, and says how many models it leaves out', () => {
    const evaluation = evaluationOf(Array.from({ length: 30 }, (_, index) => reportOf(`m${index}`)));
    const lines = progressTable(evaluation, { columns: 79, rows: 12, elapsedMs: 0, leftMs: undefined });
    expect(lines.length).toBeLessThan(12);
    expect(lines.at(-2)).toContain('and 23 more models');
  });

  it('is drawn over itself, in one piece, and stays on the screen in its last state, below the notes', () => {
    const terminal = new Terminal(80);
    const write = vi.spyOn(terminal, 'write');
    using view = createProgressView({ output: terminal });
    view.show(running(532));
    const writes = write.mock.calls.length;
    view.show(running(533));
    expect(write.mock.calls.length).toBe(writes + 1);
    view.note('a warning');
    view.show(running(534));
    expect(terminal.lines.filter((line) => line.includes('nightly'))).toHaveLength(1);
    expect(terminal.lines[0]).toBe('a warning');
    expect(terminal.lines.at(-2)).toContain('534 of 2,400 attempts');
  });

  it('is whole after the terminal was made narrower', () => {
    const terminal = new Terminal(120);
    using view = createProgressView({ output: terminal });
    view.note('before');
    view.show(running(532));
    terminal.resize(50);
    expect(terminal.lines[0]).toBe('before');
    expect(terminal.lines.filter((line) => line.includes('nightly'))).toHaveLength(1);
    expect(terminal.lines.filter((line) => displayWidth(line) > 50)).toEqual([]);
  });

  it('leaves nothing behind that listens or runs', () => {
    const terminal = new Terminal(80);
    const view = createProgressView({ output: terminal });
    view.show(running(1));
    view[Symbol.dispose]();
    expect(terminal.listenerCount('resize')).toBe(0);
  });
});

describe('progress that no terminal shows', () => {
  function lineOutput() {
    const lines: string[] = [];
    let now = 0;
    const output = Object.assign(new EventEmitter(), { write: (text: string) => lines.push(text) });
    const view = createProgressView({ output, now: () => now });
    onTestFinished(() => view[Symbol.dispose]());
    return { lines, view, pass: (ms: number) => (now += ms) };
  }

  it('is one line a change, at most one a second, without escapes', () => {
    const { lines, view, pass } = lineOutput();
    view.show(running(10));
    view.show(running(11));
    pass(1_000);
    view.show(running(12));
    pass(5_000);
    view.show(running(12));
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(
      /^12 of 2,400 attempts, 32 running, 5 reruns, \$4\.40, 2\.4M tokens; gpt-5-mini mean 0\.61 ±0\.04; /,
    );
    expect(lines.join('')).not.toContain('\u001b');
    pass(1);
    view.show(running(39));
    view.show(running(40));
    view[Symbol.dispose]();
    expect(lines.at(-1)).toMatch(/^40 of 2,400 attempts, about /);
  });

  it('has fewer lines as the hours go by', () => {
    const { lines, view, pass } = lineOutput();
    for (let done = 0; done < 2_400; done++) {
      view.show(running(done));
      pass(3_000);
    }
    expect(lines.length).toBeLessThan(250);
    expect(lines.length).toBeGreaterThan(60);
  });

  it('is nothing where nobody wants it', () => {
    const written: string[] = [];
    const output = Object.assign(new EventEmitter(), { write: (text: string) => written.push(text) });
    using view = createProgressView({ output, isQuiet: true });
    view.show(running(1));
    view.note('a warning');
    expect(written).toEqual(['a warning\n']);
  });
});
