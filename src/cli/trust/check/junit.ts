import {
  type CheckedEnvironment,
  type CheckFinding,
  type CheckReport,
  findingNameSchema,
} from '../../../contract/service/check.ts';
import { FINDING_HELP } from '../../../contract/service/check-help.ts';
import { escapeXml } from '../../../support/text/escape-xml.ts';

export interface CheckJunitOptions {
  /** True reports untried findings as failures, false as skipped. */
  readonly isStrict: boolean;
}

/**
 * Writes a JUnit document: a testsuite for each environment, a testcase for each finding, a `failure` for one with
 * errors.
 */
export function toCheckJunit({ environments }: CheckReport, options: CheckJunitOptions): string {
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="proctor check">`,
    ...environments.flatMap((environment) => toSuite(environment, options)),
    '</testsuites>',
    '',
  ].join('\n');
}

function toSuite({ name, findings }: CheckedEnvironment, { isStrict }: CheckJunitOptions): readonly string[] {
  const cases = findingNameSchema.options.map((finding) => {
    const found = findings.filter((each) => each.finding === finding);
    return { finding, found, result: resultOf(found, isStrict) };
  });
  const count = (result: CaseResult) => cases.filter((each) => each.result === result).length;
  const counts = `tests="${cases.length}" failures="${count('failure')}" errors="0" skipped="${count('skipped')}"`;
  return [
    `  <testsuite name="${escapeXml(name)}" ${counts}>`,
    ...cases.map(({ finding, found, result }) => toCase(name, finding, { found, result })),
    '  </testsuite>',
  ];
}

type CaseResult = 'passed' | 'skipped' | 'failure';

function resultOf(found: readonly CheckFinding[], isStrict: boolean): CaseResult {
  if (found.some(({ level }) => level === 'error')) return 'failure';
  if (!found.some(({ untried }) => untried)) return 'passed';
  return isStrict ? 'failure' : 'skipped';
}

interface TestCase {
  readonly found: readonly CheckFinding[];
  readonly result: CaseResult;
}

function toCase(environment: string, finding: string, { found, result }: TestCase): string {
  const start = `    <testcase name="${escapeXml(finding)}" classname="${escapeXml(environment)}"`;
  if (found.length === 0) return `${start}/>`;
  const text = escapeXml(found.map(toLine).join('\n'));
  const output = `<system-out>${text}</system-out>`;
  if (result === 'passed') return `${start}>${output}</testcase>`;
  const shown = found.find(({ level }) => level === 'error') ?? found.find(({ untried }) => untried);
  const message = `message="${escapeXml(shown?.message ?? '')}"`;
  if (result === 'failure') return `${start}><failure ${message}>${text}</failure></testcase>`;
  return `${start}><skipped ${message}/>${output}</testcase>`;
}

function toLine({ finding, level, scenario, task, message, reproduce }: CheckFinding): string {
  const place = scenario === null ? '' : ` ${scenario}${task === null ? '' : `/${task}`}:`;
  const { cause, remedy } = FINDING_HELP[finding];
  const help = level === 'note' ? '' : ` Usual cause: ${cause} Usual remedy: ${remedy}`;
  return `${level}:${place} ${message} $ ${reproduce}${help}`;
}
