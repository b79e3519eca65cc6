import {
  type CheckedEnvironment,
  type CheckFinding,
  type CheckReport,
  type FindingLevel,
  findingNameSchema,
} from '../../contract/check.ts';
import { countText } from '../amounts.ts';
import { colors, print, printable } from '../terminal.ts';

const SIGNS: Readonly<Record<FindingLevel, string>> = { error: '✗', warning: '!', note: '·' };
const MAX_MESSAGE = 1_000;

/** Prints a report for people: what is wrong first, each with the way to see it again. */
export function reportCheck({ environments, counts }: CheckReport, appUrl: string): void {
  for (const environment of environments) {
    reportEnvironment(environment, appUrl);
    print();
  }
  const amounts = [
    countText(counts.error, 'error'),
    countText(counts.warning, 'warning'),
    countText(counts.note, 'note'),
  ].join(', ');
  const verdict =
    counts.error > 0 ? colors.red(amounts) : counts.warning > 0 ? colors.yellow(amounts) : colors.green(amounts);
  print(
    `${verdict}${counts.error + counts.warning > 0 ? colors.dim('  docs/trust.md of the package says what each finding means') : ''}`,
  );
}

function reportEnvironment({ name, scenarios, findings, may_share_process }: CheckedEnvironment, appUrl: string): void {
  const tried = scenarios
    .map((scenario) => `${printable(scenario.name)} (${countText(scenario.tasks, 'task')})`)
    .join(', ');
  print(`${colors.bold(printable(name))}  ${colors.dim(tried)}`);
  for (const finding of findings) reportFinding(finding, appUrl);
  // A finding that was not tried is not in order: its note says so.
  const remarks = findings.filter(({ level, message }) => level !== 'note' || /\bnot tried\b/i.test(message));
  const noticed = new Set(remarks.map(({ finding }) => finding));
  const sound = findingNameSchema.options.filter((finding) => !noticed.has(finding));
  if (scenarios.length > 0 && sound.length > 0) print(`  ${colors.green('✓')} ${colors.dim(sound.join(' '))}`);
  if (may_share_process === null) return;
  const advice = may_share_process ? 'Its sessions can share a process.' : 'Its sessions cannot share a process.';
  print(colors.dim(`  ${advice}`));
}

function reportFinding(
  { finding, level, scenario, task, message, reproduce, trace_id }: CheckFinding,
  appUrl: string,
): void {
  const paint = { error: colors.red, warning: colors.yellow, note: colors.dim }[level];
  const place = scenario === null ? '' : ` ${printable(scenario)}${task === null ? '' : `/${printable(task)}`}:`;
  const text = printable(message, MAX_MESSAGE);
  if (level === 'note') {
    print(colors.dim(`  ${SIGNS.note} ${finding}${place} ${text}`));
    return;
  }
  print(`  ${paint(`${SIGNS[level]} ${finding}`)}${colors.bold(place)} ${text}`);
  print(colors.dim(`      $ ${printable(reproduce, MAX_MESSAGE)}`));
  if (trace_id !== null) print(colors.dim(`      ${appUrl}/traces/${trace_id}`));
}
