import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { expect, it } from 'vitest';
import { toJunit } from '../../../src/cli/evaluate/eval/junit.ts';
import { toMarkdown } from '../../../src/cli/evaluate/eval/markdown.ts';
import { reportLines } from '../../../src/cli/evaluate/eval/report-text.ts';
import type { EvaluationDetail, Report } from '../../../src/contract/service/evaluation.ts';
import { judgeGate } from '../../../src/evaluation/evaluations/report/judge-gate.ts';
import { ReportList } from '../../../src/web/app/evaluations/report-list.tsx';
import { ReportTable } from '../../../src/web/app/evaluations/report-table.tsx';
import { evaluationOf, reportOf } from './evaluations.ts';
import { parseXml } from './xml.ts';

/** Text as a reader sees it, without elements, with entities read and white space as one blank. */
function readable(html: string): string {
  return html
    .replace(/<[^>]*>/g, ' ')
    .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ');
}

/** The four documents, each as plain text. */
function render(evaluation: EvaluationDetail) {
  const verdict = judgeGate({ evaluation, minScore: 0.5 });
  const { reports } = evaluation;
  const junit = parseXml(toJunit({ evaluation, rows: [], checks: verdict.checks, failures: 'gate' }));
  const properties = junit.children.flatMap(({ children }) => children.flatMap((each) => each.children));
  return {
    terminal: reportLines(evaluation).join('\n'),
    page: readable(renderToString(h(ReportTable, { evaluation }))),
    list: readable(renderToString(h(ReportList, { evaluation }))),
    markdown: readable(toMarkdown({ verdict, evaluation, reports, changed: [] })),
    junit: properties.map(({ attributes }) => `${attributes.name}=${attributes.value}`).join('\n'),
    gate: verdict.checks.map(({ sentence }) => sentence).join('\n'),
  };
}

type Documents = ReturnType<typeof render>;

/** Where each figure stands in the documents that have it. */
const PLACES: Readonly<Record<string, { readonly [Name in keyof Documents]?: RegExp }>> = {
  mean: {
    terminal: /^ {2}mean +(.+?) over/m,
    list: /(\S+ (?:\[[^\]]*\]|\(no interval\))) ?,/,
    markdown: /\| m \| (.+?) \|/,
    junit: /^mean=(.*)$/m,
    gate: /the mean (\S+ \[.*?\]) is/,
  },
  'pass rate': {
    terminal: /^ {2}pass rate +(.+?), the mean/m,
    page: /Pass rate (.+?) of \d+ tasks/,
    markdown: /\| m \| .+? \| (.+?) \|/,
    junit: /^pass_rate=(.*)$/m,
  },
  'tasks of the pass rate': { terminal: /the mean over (\d+ tasks)/, page: /Pass rate .+? of (\d+ tasks)/ },
  'pass@2': { terminal: /pass@k.* 2: (.+?) {2}/, page: /pass@2 (\S+ %)/ },
  'pass^2': { terminal: /pass\^k.* 2: (.+?) {2}/, page: /pass\^2 (\S+ %)/ },
  coverage: {
    terminal: /\(coverage (.+?)\)/,
    page: /Coverage (.+?) Missing/,
    markdown: /\| m \| .+? \| .+? \| (.+?) \|/,
    junit: /^coverage=(.*)$/m,
    gate: /a coverage of (.+?), which/,
  },
  'attempts with a reward': { terminal: /over (.+?) \(cov/, list: /, (\S+ of \S+ attempts)/, gate: /^m: (.+?) have/ },
  'missing as 0': { terminal: /missing as 0 +(\S+)/, page: /Missing as 0 (\S+)/, list: /(\S+) with the \S+ missing/ },
  'smallest difference': { terminal: /that differ by (\S+) or/, page: /Smallest difference (\S+)/ },
  cost: {
    terminal: /^ {2}cost +(.+?),/m,
    page: /Cost (\S+)/,
    markdown: /\| (\S+) \| Evaluation/,
    junit: /^cost=(.*)$/m,
  },
  'cost of reruns': { terminal: /and (\S+) for reruns/, page: /Reruns \S+ \((\S+?)\)/ },
  'tokens in': { terminal: /\((\S+) in,/, page: /Tokens (\S+) in/ },
  'tokens out': { terminal: /in, (\S+) out\)/, page: /Tokens \S+ in (\S+) out/ },
  steps: { terminal: /steps (.+? \(p95\))/, page: /Steps (.+? \(p95\))/ },
  duration: { terminal: /an attempt (.+? \(p95\))/, page: /Duration (.+? \(p95\))/ },
  'wall time': { terminal: /^ {2}time +(.+?) in all/m, page: /Wall time (.+?) ?$/ },
};

const ROUNDED: Partial<Report> = {
  mean: 0.825,
  ci95: [0.7849, 0.8651],
  coverage: 0.995,
  n_attempts: 800,
  mean_missing_as_zero: 0.82085,
  pass_rate: { value: 0.825, ci95: [0.785, 0.865] },
  pass_at_k: {
    '1': { value: 0.825, tasks: 200, left_out: 0 },
    '2': { value: 0.8849999, tasks: 200, left_out: 0 },
  },
  pass_hat_k: { '1': { value: 0.825, tasks: 200, left_out: 0 }, '2': { value: 0.765, tasks: 200, left_out: 0 } },
  outcomes: { graded: 796, model_error: 4 },
  cost: { agent: 1.18478, user: 0, judge: 0, total: 1.18478 },
  reruns_cost: 0.00425,
  tokens: { prompt: 8_449, completion: 12_650, total: 21_099 },
  wall_ms: 3_725_000,
  steps: { median: 2.5, p95: 32.599999999999994 },
  duration_ms: { median: 14_249.6, p95: 61_499.7 },
  smallest_detectable_difference: 0.0825,
};

it.each([
  ['with decimals on the edge', ROUNDED],
  ['of a narrow interval', { ...ROUNDED, mean: 0.61042, ci95: [0.60942, 0.61142], mean_missing_as_zero: 0.5999 }],
  ['of a whole evaluation', { ...ROUNDED, coverage: 1, outcomes: { graded: 800 } }],
] satisfies readonly (readonly [string, Partial<Report>])[])(
  'a report %s has the same figures in the terminal, on the page, in Markdown and in JUnit',
  (_, more) => {
    const documents = render(evaluationOf([reportOf('m', more)]));
    for (const [figure, places] of Object.entries(PLACES)) {
      const found = Object.entries(places).map(([name, pattern]) => {
        const text = documents[name as keyof Documents];
        return [name, pattern.exec(text)?.[1]?.trim()] as const;
      });
      const told = found.filter(([name]) => !(more.coverage === 1 && figure === 'missing as 0' && name === 'list'));
      const [, first] = told[0] ?? [];
      expect(first, `${figure}: ${JSON.stringify(documents, null, 1)}`).toBeDefined();
      expect([figure, Object.fromEntries(told)]).toEqual([
        figure,
        Object.fromEntries(told.map(([name]) => [name, first])),
      ]);
    }
  },
);
