import type {
  CheckedEnvironment,
  CheckFinding,
  CheckReport,
  FindingLevel,
  FindingName,
} from '../../../contract/service/check.ts';
import { FINDING_HELP } from '../../../contract/service/check-help.ts';
import { countText } from '../../../support/text/figures.ts';
import { colors, print, printable } from '../../base/terminal.ts';

const SIGNS: Readonly<Record<FindingLevel, string>> = { error: '✗', warning: '!', note: '·' };
const MAX_MESSAGE = 1_000;
/** The guide in this package, as a link for the terminal. */
const GUIDE = new URL('../../../../docs/trust.md', import.meta.url).href;

/** Prints a report: problems first, each with a command that shows it again. */
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
  const untried = environments.flatMap(untriedNames).length;
  const gaps = untried === 0 ? '' : colors.yellow(`, ${countText(untried, 'finding')} not tried to the end`);
  const verdict =
    counts.error > 0 ? colors.red(amounts) : counts.warning > 0 ? colors.yellow(amounts) : colors.green(amounts);
  print(
    `${verdict}${gaps}${counts.error + counts.warning > 0 ? colors.dim(`  ${GUIDE} says what each finding means`) : ''}`,
  );
}

function reportEnvironment(
  { name, scenarios, tried, findings, may_share_process }: CheckedEnvironment,
  appUrl: string,
): void {
  const scenarioTexts = scenarios
    .map((scenario) => `${printable(scenario.name)} (${countText(scenario.tasks, 'task')})`)
    .join(', ');
  print(`${colors.bold(printable(name))}  ${colors.dim(scenarioTexts)}`);
  const told = new Set<FindingName>();
  for (const finding of findings.filter(({ untried }) => !untried)) {
    reportFinding(finding, appUrl);
    if (finding.level === 'note' || told.has(finding.finding)) continue;
    told.add(finding.finding);
    reportHelp(finding.finding);
  }
  reportUntried(findings);
  const sound = tried.filter(({ state }) => state === 'tried').map(({ finding }) => finding);
  if (sound.length > 0) print(`  ${colors.green('✓')} ${colors.dim(`tried, and not found: ${sound.join(' ')}`)}`);
  if (may_share_process === null) return;
  const advice = may_share_process ? 'Its sessions can share a process.' : 'Its sessions cannot share a process.';
  print(colors.dim(`  ${advice}`));
}

/** Prints cause and remedy once, at the first of several equal findings. */
function reportHelp(finding: FindingName): void {
  const { cause, remedy } = FINDING_HELP[finding];
  print(colors.dim(`      Usual cause: ${cause}`));
  print(colors.dim(`      Usual remedy: ${remedy} ${GUIDE}#${finding}`));
}

/** Prints findings that were not tried completely, one line for each scenario and reason. */
function reportUntried(findings: readonly CheckFinding[]): void {
  const groups = new Map<string, string[]>();
  for (const { finding, scenario, message } of findings.filter(({ untried }) => untried)) {
    const key = `${scenario === null ? '' : `${printable(scenario)}: `}${printable(message, MAX_MESSAGE)}`;
    groups.set(key, [...(groups.get(key) ?? []), finding]);
  }
  for (const [text, names] of groups)
    print(`  ${colors.yellow('?')} ${[...new Set(names)].join(' ')}  ${colors.dim(text)}`);
}

function untriedNames({ findings }: CheckedEnvironment): readonly string[] {
  return [...new Set(findings.filter(({ untried }) => untried).map(({ finding }) => finding))];
}

/** Describes the gaps for which `--strict` fails; undefined if everything was tried completely. */
export function describeUntried({ environments }: CheckReport): string | undefined {
  const parts = environments
    .map((environment) => ({ name: environment.name, names: untriedNames(environment) }))
    .filter(({ names }) => names.length > 0)
    .map(({ name, names }) => `${printable(name)}: ${names.join(', ')}`);
  if (parts.length === 0) return undefined;
  return `--strict: not everything was tried (${parts.join('; ')}). The report gives the reasons.`;
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
