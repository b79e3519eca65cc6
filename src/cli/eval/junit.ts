import type { EvaluationDetail, TaskRow } from '../../contract/evaluation.ts';
import { rewardText } from './figures.ts';
import { describeOutcomes } from './outcome-words.ts';

/**
 * A JUnit document: a testsuite for each model, a testcase for each task; `failure` where its mean is below the threshold,
 * `error` where no attempt of it has a reward.
 */
export function toJunit(evaluation: EvaluationDetail, rows: readonly TaskRow[]): string {
  const byModel = new Map<string, TaskRow[]>(evaluation.models.map((model) => [model, []]));
  for (const row of rows) byModel.get(row.model)?.push(row);
  const name = evaluation.name ?? evaluation.taskset.name ?? evaluation.evaluation_id;
  const lines = [...byModel].flatMap(([model, own]) => (own.length === 0 ? [] : toSuite(model, own, evaluation)));
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${escapeXml(name)}"${countsOf(rows, evaluation)}>`,
    ...lines,
    '</testsuites>',
    '',
  ].join('\n');
}

function toSuite(model: string, rows: readonly TaskRow[], evaluation: EvaluationDetail): readonly string[] {
  const report = evaluation.reports.find((each) => each.model === model);
  const time = report?.wall_ms == null ? '' : ` time="${(report.wall_ms / 1_000).toFixed(3)}"`;
  return [
    `  <testsuite name="${escapeXml(model)}"${countsOf(rows, evaluation)}${time} timestamp="${escapeXml(evaluation.created_at)}">`,
    '    <properties>',
    `      <property name="evaluation_id" value="${escapeXml(evaluation.evaluation_id)}"/>`,
    `      <property name="evaluation_url" value="${escapeXml(evaluation.evaluation_url)}"/>`,
    `      <property name="taskset_version" value="${escapeXml(evaluation.taskset.version)}"/>`,
    '    </properties>',
    ...rows.map((row) => toCase(row, evaluation)),
    '  </testsuite>',
  ];
}

function toCase(row: TaskRow, { taskset, pass_threshold }: EvaluationDetail): string {
  const suite = escapeXml(`${taskset.name ?? 'tasks'}.${row.model}`);
  const start = `    <testcase name="${escapeXml(row.task_id)}" classname="${suite}"`;
  const state = stateOf(row, pass_threshold);
  if (state === 'passed') return `${start}/>`;
  const outcomes = describeOutcomes(row.outcomes);
  const [element, message] =
    state === 'error'
      ? ['error', `None of ${row.attempts} attempts has a reward: ${outcomes}`]
      : [
          'failure',
          `Mean reward ${rewardText(row.mean)} of ${row.valid} attempts is below ${pass_threshold}: ${outcomes}`,
        ];
  return `${start}><${element} message="${escapeXml(message)}"/></testcase>`;
}

function stateOf({ valid, mean }: TaskRow, threshold: number): 'passed' | 'failure' | 'error' {
  if (valid === 0 || mean === null) return 'error';
  return mean < threshold ? 'failure' : 'passed';
}

function countsOf(rows: readonly TaskRow[], { pass_threshold }: EvaluationDetail): string {
  const count = (wanted: 'failure' | 'error') => rows.filter((row) => stateOf(row, pass_threshold) === wanted).length;
  return ` tests="${rows.length}" failures="${count('failure')}" errors="${count('error')}" skipped="0"`;
}

/** Characters that XML 1.0 cannot hold in any form, halves of surrogate pairs among them. */
const NOT_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
};

/** Any text as the value of an attribute. */
export function escapeXml(text: string): string {
  return text.replace(NOT_XML, '\ufffd').replace(/[&<>"'\t\n\r]/g, (character) => ENTITIES[character] ?? '');
}
