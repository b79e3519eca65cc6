import type { EvaluationDetail, Report, TaskRow } from '../../../contract/service/evaluation.ts';
import type { GateCheck } from '../../../evaluation/evaluations/report/judge-gate.ts';
import { escapeXml } from '../../../support/text/escape-xml.ts';
import {
  countText,
  meanBeside,
  moneyText,
  shareText,
  shareWithInterval,
  thresholdText,
  withInterval,
} from '../../../support/text/figures.ts';
import { sortNaturally } from '../../../support/text/natural-order.ts';
import { describeOutcomes } from './outcome-words.ts';

/** Failures of a JUnit document: tasks below the threshold, or failed checks of the gate. */
export type JunitFailures = 'task' | 'gate';

export interface JunitInput {
  readonly evaluation: EvaluationDetail;
  readonly rows: readonly TaskRow[];
  readonly checks: readonly GateCheck[];
  readonly failures: JunitFailures;
}

/**
 * Writes a JUnit document with a testsuite for each model and a testcase for each task. With `task`, a mean below the
 * threshold is a `failure` and a missing reward an `error`. With `gate`, tasks never fail, and each check of the gate
 * is a testcase that can.
 */
export function toJunit(input: JunitInput): string {
  const { evaluation } = input;
  const suites = evaluation.models.map((model) => ({ model, cases: casesOf(model, input) }));
  const name = evaluation.name ?? evaluation.taskset.name ?? evaluation.evaluation_id;
  const whole = input.failures === 'gate' ? input.checks.filter(({ model }) => model === null) : [];
  const all = [{ model: 'gate', cases: whole.map(toGateCase) }, ...suites].filter(({ cases }) => cases.length > 0);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${escapeXml(name)}"${countsOf(all.flatMap(({ cases }) => cases))}>`,
    ...all.flatMap(({ model, cases }) => toSuite(model, cases, evaluation)),
    '</testsuites>',
    '',
  ].join('\n');
}

interface TestCase {
  readonly name: string;
  readonly state: 'passed' | 'failure' | 'error';
  /** Undefined for a passed task. */
  readonly message: string | undefined;
}

function casesOf(model: string, { evaluation, rows, checks, failures }: JunitInput): readonly TestCase[] {
  const own = sortNaturally(
    rows.filter((row) => row.model === model),
    ({ task_id }) => task_id,
  );
  const tasks = own.map((row) => toTaskCase(row, evaluation));
  if (failures === 'task') return tasks;
  const ofGate = checks.filter((check) => check.model === model).map(toGateCase);
  return [...ofGate, ...tasks.map((each) => ({ ...each, state: 'passed' as const }))];
}

function toGateCase({ check, code, sentence }: GateCheck): TestCase {
  const state = code === 0 ? 'passed' : code === 2 ? 'error' : 'failure';
  return { name: `gate: ${check}`, state, message: sentence };
}

function toTaskCase(row: TaskRow, { pass_threshold }: EvaluationDetail): TestCase {
  const { task_id: name, attempts, valid, mean } = row;
  const outcomes = describeOutcomes(row.outcomes);
  if (valid === 0 || mean === null) {
    return { name, state: 'error', message: `None of ${countText(attempts, 'attempt')} has a reward: ${outcomes}` };
  }
  if (mean >= pass_threshold) return { name, state: 'passed', message: undefined };
  const reward = `Mean reward ${meanBeside(mean, pass_threshold)} of ${countText(valid, 'attempt')}`;
  return { name, state: 'failure', message: `${reward} is below ${thresholdText(pass_threshold)}: ${outcomes}` };
}

function toSuite(model: string, cases: readonly TestCase[], evaluation: EvaluationDetail): readonly string[] {
  const report = evaluation.reports.find((each) => each.model === model);
  const time = report?.wall_ms == null ? '' : ` time="${(report.wall_ms / 1_000).toFixed(3)}"`;
  const suite = `${evaluation.taskset.name ?? 'tasks'}.${model}`;
  return [
    `  <testsuite name="${escapeXml(model)}"${countsOf(cases)}${time} timestamp="${escapeXml(evaluation.created_at)}">`,
    '    <properties>',
    `      <property name="evaluation_id" value="${escapeXml(evaluation.evaluation_id)}"/>`,
    `      <property name="evaluation_url" value="${escapeXml(evaluation.evaluation_url)}"/>`,
    `      <property name="taskset_version" value="${escapeXml(evaluation.taskset.version)}"/>`,
    ...(report === undefined ? [] : figuresOf(report).map(([name, value]) => toProperty(name, value))),
    '    </properties>',
    ...cases.map((each) => toCase(each, suite)),
    '  </testsuite>',
  ];
}

/** Figures of a model, the same as in other reports. */
function figuresOf(report: Report): readonly (readonly [name: string, value: string])[] {
  return [
    ['mean', withInterval(report.mean, report.ci95)],
    ['pass_rate', shareWithInterval(report.pass_rate.value, report.pass_rate.ci95)],
    ['coverage', shareText(report.coverage)],
    ['cost', moneyText(report.cost.total)],
  ];
}

function toProperty(name: string, value: string): string {
  return `      <property name="${name}" value="${escapeXml(value)}"/>`;
}

function toCase({ name, state, message = '' }: TestCase, suite: string): string {
  const start = `    <testcase name="${escapeXml(name)}" classname="${escapeXml(suite)}"`;
  if (state !== 'passed') return `${start}><${state} message="${escapeXml(message)}"/></testcase>`;
  return message === '' ? `${start}/>` : `${start}><system-out>${escapeXml(message)}</system-out></testcase>`;
}

function countsOf(cases: readonly TestCase[]): string {
  const count = (wanted: TestCase['state']) => cases.filter(({ state }) => state === wanted).length;
  return ` tests="${cases.length}" failures="${count('failure')}" errors="${count('error')}" skipped="0"`;
}
