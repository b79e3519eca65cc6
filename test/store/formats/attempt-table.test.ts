import { describe, expect, it } from 'vitest';
import type { EvaluationAttempt } from '../../../src/contract/service/evaluation.ts';
import { createAttemptTable, TABLE_COLUMNS } from '../../../src/store/formats/attempt-table.ts';
import { read } from '../../docs/documents.ts';
import { readCsv } from './csv.ts';

const EVALUATION = { evaluation_id: `eval_${'1'.repeat(32)}`, name: 'nightly' };
const ATTEMPT: EvaluationAttempt = {
  trace_id: 'a'.repeat(32),
  trace_url: 'http://127.0.0.1:8320/traces/a',
  model: 'gpt-5-mini',
  task_id: 't1',
  attempt_index: 1,
  outcome: 'graded',
  reward: -0.25,
  passed: false,
  seed: -7,
  reruns: 0,
  steps: 3,
  usage: {
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 15,
    cached_tokens: 2,
    reasoning_tokens: 1,
    cost_usd: 0.5,
  },
  cost_usd: 0.5,
  duration_ms: 1_200,
  error: null,
};

/** The cells of one attempt by column. */
function cellsOf(change: Partial<EvaluationAttempt>): Readonly<Record<string, string>> {
  const table = createAttemptTable('csv', EVALUATION);
  const [head = [], row = [], ...others] = readCsv(`${table.head}${table.toLine({ ...ATTEMPT, ...change })}`.slice(1));
  expect([head, row.length, others]).toEqual([TABLE_COLUMNS, head.length, []]);
  return Object.fromEntries(head.map((name, index) => [name, row[index] ?? '']));
}

function errorOf(message: string): string | undefined {
  return cellsOf({ error: { boundary: 'tool', code: 'x', message } }).error_message;
}

describe('the table of attempts as CSV', () => {
  it('begins with a byte order mark and the columns, and has numbers as they are, negative ones too', () => {
    expect(createAttemptTable('csv', EVALUATION).head.startsWith('\u{FEFF}evaluation_id,evaluation_name,')).toBe(true);
    expect(cellsOf({})).toMatchObject({ reward: '-0.25', seed: '-7', passed: 'false', error_code: '', steps: '3' });
  });

  it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\tx', '\r=1', '＝1', '-2+3+cmd|" /C calc"!A0'])(
    'puts an apostrophe before %j, which a spreadsheet would run',
    (text) => {
      expect(errorOf(text)).toBe(`'${text}`);
      expect(cellsOf({ task_id: text, model: text })).toMatchObject({ task_id: `'${text}`, model: `'${text}` });
    },
  );

  it.each(['a, "b"', 'one\ntwo\r\nthree', 'a;=1+1', ' blanks ', 'Grüße 日本語 👩‍🚀', "it's = 1", ''])(
    'keeps %j',
    (text) => {
      expect(errorOf(text)).toBe(text);
    },
  );

  it('quotes what a spreadsheet with another separator would cut', () => {
    const line = createAttemptTable('csv', EVALUATION).toLine({ ...ATTEMPT, task_id: 'a;=1+1' });
    expect(line).toContain(',"a;=1+1",');
  });

  it('replaces what is no text: halves of surrogate pairs, and U+0000', () => {
    expect(errorOf('a\ud83db\0c')).toBe('a\u{FFFD}b\u{FFFD}c');
  });

  it('leaves empty what is not known: an attempt without a reward has not failed', () => {
    const none = { trace_id: null, trace_url: null, outcome: null, reward: null, cost_usd: null, duration_ms: null };
    expect(cellsOf({ ...none, passed: false })).toMatchObject({ reward: '', passed: '', trace_id: '', cost_usd: '' });
  });
});

describe('the table of attempts as JSON lines', () => {
  it('has the same columns, with every text as it is', () => {
    const table = createAttemptTable('jsonl', EVALUATION);
    expect(table.head).toBe('');
    const row = JSON.parse(table.toLine({ ...ATTEMPT, task_id: '=1+1' }));
    expect(Object.keys(row)).toEqual(TABLE_COLUMNS);
    expect(row).toMatchObject({ task_id: '=1+1', reward: -0.25, error_code: null });
  });
});

it('docs/reference/attempt-table.md has a row for every column, in their order', () => {
  const rows = [...read('docs/reference/attempt-table.md').matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  expect(rows).toEqual(TABLE_COLUMNS);
});
