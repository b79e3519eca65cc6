import { describe, expect, it } from 'vitest';
import { toJunit } from '../../../src/cli/evaluate/eval/junit.ts';
import { COMMENT_MARK, type GateComment, toMarkdown } from '../../../src/cli/evaluate/eval/markdown.ts';
import type { TaskRow } from '../../../src/contract/service/evaluation.ts';
import { comparisonOf, comparisonsOf, evaluationOf, reportOf } from './evaluations.ts';
import { parseXml } from './xml.ts';

function rowOf(task_id: string, model: string, more: Partial<TaskRow> = {}): TaskRow {
  const graded = { attempts: 4, valid: 4, mean: 1, passed: 4, pass_rate: 1, outcomes: { graded: 4 } };
  return { task_id, model, cluster: task_id, ...graded, ...more };
}

/** What somebody may write into a name, to be read as something else. */
const HOSTILE = [
  `</testcase><failure/> ]]> <![CDATA[ & " ' \u0000\u001b[2J\ud800 \ufffe\t\n`,
  '| a | b |\n\n# Heading\n- item `code` **bold** [x](javascript:alert(1)) ![i](http://evil.example/i.png)',
  '<script>alert(1)</script><img src=x onerror=alert(1)> &lt; --> <!-- </details></code>',
  '@octocat fixes #1 org/repo#2 GH-3 :tada: www.evil.example http://evil.example deadbeefdeadbeef',
];

describe('the JUnit document', () => {
  const models = [reportOf('small', { wall_ms: 1_500 }), reportOf('large')];
  const missing = { valid: 0, mean: null, passed: 0, pass_rate: null, outcomes: { model_error: 3, cancelled: 1 } };
  const rows = [
    rowOf('a', 'small'),
    rowOf('a', 'large', { mean: 0.75, passed: 3, pass_rate: 0.75 }),
    rowOf('b', 'small', missing),
    rowOf('b', 'large'),
  ];

  it('has a testsuite for each model and a testcase for each task, with failures and errors', () => {
    const document = parseXml(toJunit({ evaluation: evaluationOf(models), rows, checks: [], failures: 'task' }));
    expect(document).toMatchObject({
      name: 'testsuites',
      attributes: { name: 'nightly', tests: '4', failures: '1', errors: '1', skipped: '0' },
      children: [
        { name: 'testsuite', attributes: { name: 'small', tests: '2', failures: '0', errors: '1', time: '1.500' } },
        { name: 'testsuite', attributes: { name: 'large', tests: '2', failures: '1', errors: '0' } },
      ],
    });
    const cases = document.children.map(({ children }) => children.filter(({ name }) => name === 'testcase'));
    expect(cases).toMatchObject([
      [
        { attributes: { name: 'a', classname: 'retail/task.small' }, children: [] },
        {
          attributes: { name: 'b' },
          children: [
            {
              name: 'error',
              attributes: { message: expect.stringMatching(/^None of 4 attempts has a reward: 3 without an answer/) },
            },
          ],
        },
      ],
      [
        {
          attributes: { name: 'a' },
          children: [
            { name: 'failure', attributes: { message: 'Mean reward 0.75 of 4 attempts is below 1: 4 graded' } },
          ],
        },
        { attributes: { name: 'b' }, children: [] },
      ],
    ]);
  });

  it('by the gate, fails where the gate does and nowhere else: tasks tell how they went', () => {
    const coverage = { model: 'small', check: 'coverage', code: 4, sentence: 'small: too few.' } as const;
    const score = { model: 'large', check: 'score', code: 0, sentence: 'large: enough.' } as const;
    const checks = [coverage, score];
    const document = parseXml(toJunit({ evaluation: evaluationOf(models), rows, checks, failures: 'gate' }));
    expect(document.attributes).toMatchObject({ tests: '6', failures: '1', errors: '0' });
    const cases = document.children.map(({ children }) => children.filter(({ name }) => name === 'testcase'));
    expect(cases).toMatchObject([
      [
        {
          attributes: { name: 'gate: coverage' },
          children: [{ name: 'failure', attributes: { message: 'small: too few.' } }],
        },
        { attributes: { name: 'a' }, children: [] },
        { attributes: { name: 'b' }, children: [{ name: 'system-out' }] },
      ],
      [
        { attributes: { name: 'gate: score' }, children: [{ name: 'system-out' }] },
        { attributes: { name: 'a' }, children: [{ name: 'system-out' }] },
        { attributes: { name: 'b' }, children: [] },
      ],
    ]);
    const running = { model: null, check: 'ended', code: 2, sentence: 'It runs.' } as const;
    const open = parseXml(toJunit({ evaluation: evaluationOf(models), rows, checks: [running], failures: 'gate' }));
    expect(open.attributes).toMatchObject({ tests: '5', failures: '0', errors: '1' });
  });

  it('has tasks in the order in which people count', () => {
    const counted = ['settle-10', 'settle-2', 'settle-1'].map((id) => rowOf(id, 'small'));
    const document = parseXml(
      toJunit({ evaluation: evaluationOf(models), rows: counted, checks: [], failures: 'task' }),
    );
    const [suite] = document.children;
    const cases = suite?.children.filter(({ name }) => name === 'testcase');
    expect(cases?.map(({ attributes }) => attributes.name)).toEqual(['settle-1', 'settle-2', 'settle-10']);
  });

  it('is well-formed with any text, and gives back all that XML can hold', () => {
    for (const text of HOSTILE) {
      const evaluation = evaluationOf([reportOf(text)], {
        name: text,
        taskset: { name: text, version: text, tasks: 1 },
      });
      const hostile = [rowOf(text, text), rowOf('\u{10ffff}', text, { mean: 0 })];
      const document = parseXml(toJunit({ evaluation, rows: hostile, checks: [], failures: 'task' }));
      const [suite] = document.children;
      const [first] = suite?.children.filter(({ name }) => name === 'testcase') ?? [];
      const held = text.replaceAll('\u0000', '\ufffd').replaceAll('\u001b', '\ufffd');
      expect(first?.attributes.name).toBe(held.replaceAll('\ud800', '\ufffd').replaceAll('\ufffe', '\ufffd'));
      expect(suite?.attributes.name).toBe(first?.attributes.name);
    }
  });
});

describe('the Markdown of a gate', () => {
  const evaluation = evaluationOf([reportOf('gpt-5-mini')]);
  const comment: GateComment = {
    verdict: {
      code: 1,
      checks: [
        { model: 'gpt-5-mini', check: 'coverage', code: 0, sentence: 'gpt-5-mini: coverage is 98 %.' },
        { model: 'gpt-5-mini', check: 'regression', code: 1, sentence: 'gpt-5-mini: lower by 0.06.' },
      ],
      warnings: ['The code has changed.'],
    },
    evaluation,
    reports: evaluation.reports,
    baseline: evaluationOf([reportOf('gpt-5-mini')], { name: 'main' }),
    comparisons: comparisonsOf([comparisonOf({ a_model: 'gpt-5-mini', b_model: 'gpt-5-mini' })]),
    changed: [
      {
        comparison: comparisonOf({ b_model: 'gpt-5-mini' }),
        won: [{ taskId: 'w1', aUrl: 'https://proctor.example/traces/1', bUrl: 'https://proctor.example/traces/2' }],
        lost: [{ taskId: 'l1', aUrl: null, bUrl: 'javascript:alert(1)' }],
      },
    ],
  };

  it('says the verdict first, then a small table, then the tasks that went another way, with their traces', () => {
    const lines = toMarkdown(comment).split('\n');
    expect(lines.slice(0, 6)).toEqual([
      COMMENT_MARK,
      '### ❌ Failed: <code>nightly</code>',
      '',
      '- ✅ gpt-5-mini: coverage is 98 %.',
      '- ❌ gpt-5-mini: lower by 0.06.',
      '- ⚠️ The code has changed.',
    ]);
    expect(lines).toContain(
      '| model | mean [95 %] | pass rate | coverage | against the baseline | won / lost | cost |',
    );
    expect(lines.find((line) => line.includes('14 / 5'))).toContain('+0.06 &#91;+0.02, +0.10&#93; (p &#61; 0.003)');
    expect(lines).toContain(
      '- won: <code>w1</code> ([before](<https://proctor.example/traces/1>), [now](<https://proctor.example/traces/2>))',
    );
    expect(lines).toContain('- lost: <code>l1</code>');
    expect(lines).toContain('- and 13 more');
  });

  it.each(HOSTILE)('interprets nothing of a name: %j', (text) => {
    const hostile = evaluationOf([reportOf(text)], { name: text });
    const markdown = toMarkdown({
      ...comment,
      verdict: {
        code: 0,
        checks: [{ model: text, check: 'score', code: 0, sentence: `${text}: fine.` }],
        warnings: [text],
      },
      evaluation: hostile,
      reports: hostile.reports,
      comparisons: comparisonsOf([comparisonOf({ b_model: text })]),
      changed: [
        { comparison: comparisonOf({ b_model: text }), won: [{ taskId: text, aUrl: null, bUrl: null }], lost: [] },
      ],
    });
    // Outside of code there are our own words alone, and inside of it nothing but letters, digits and entities.
    const inside = [...markdown.matchAll(/<code>(.*?)<\/code>/gs)].map(([, held = '']) => held);
    expect(inside.length).toBeGreaterThan(4);
    for (const held of inside) expect(held).toMatch(/^(?:[\p{L}\p{N} .,%±;:()+/…−–-]|&#\d+;)*$/u);
    const outside = markdown.replace(/<code>.*?<\/code>/gs, '');
    for (const word of ['evil', 'octocat', '<script', '<img', '](j', '<testcase', '# H', 'tada', 'deadbeef', '| a |']) {
      expect(outside).not.toContain(word);
    }
    expect(markdown.match(/<!--/g)).toHaveLength(1);
    expect(markdown.match(/<details>/g)).toHaveLength(1);
  });

  it('stays short, however many tasks went another way', () => {
    const many = Array.from({ length: 10 }, (_, index) => ({ taskId: `${index}`.repeat(190), aUrl: null, bUrl: null }));
    const changed = Array.from({ length: 10 }, () => ({ comparison: comparisonOf(), won: many, lost: many }));
    expect(toMarkdown({ ...comment, changed }).length).toBeLessThan(60_000);
  });
});
