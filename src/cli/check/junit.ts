import {
  type CheckedEnvironment,
  type CheckFinding,
  type CheckReport,
  findingNameSchema,
} from '../../contract/check.ts';
import { escapeXml } from '../eval/junit.ts';

/** A JUnit document: a testsuite for each environment, a testcase for each finding; `failure` where it has errors. */
export function toCheckJunit({ environments }: CheckReport): string {
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="proctor check">`,
    ...environments.flatMap(toSuite),
    '</testsuites>',
    '',
  ].join('\n');
}

function toSuite({ name, findings }: CheckedEnvironment): readonly string[] {
  const names = findingNameSchema.options;
  const isFailed = (finding: string) => findings.some((each) => each.finding === finding && each.level === 'error');
  const failures = names.filter(isFailed).length;
  return [
    `  <testsuite name="${escapeXml(name)}" tests="${names.length}" failures="${failures}" errors="0" skipped="0">`,
    ...names.map((finding) =>
      toCase(
        name,
        finding,
        findings.filter((each) => each.finding === finding),
      ),
    ),
    '  </testsuite>',
  ];
}

function toCase(environment: string, finding: string, found: readonly CheckFinding[]): string {
  const start = `    <testcase name="${escapeXml(finding)}" classname="${escapeXml(environment)}"`;
  if (found.length === 0) return `${start}/>`;
  const text = escapeXml(found.map(toLine).join('\n'));
  const errors = found.filter(({ level }) => level === 'error');
  const [first] = errors;
  if (first === undefined) return `${start}><system-out>${text}</system-out></testcase>`;
  return `${start}><failure message="${escapeXml(first.message)}">${text}</failure></testcase>`;
}

function toLine({ level, scenario, task, message, reproduce }: CheckFinding): string {
  const place = scenario === null ? '' : ` ${scenario}${task === null ? '' : `/${task}`}:`;
  return `${level}:${place} ${message} $ ${reproduce}`;
}
