import type { Comparison, ComparisonList, EvaluationDetail, Report } from '../../../contract/service/evaluation.ts';
import type { GateVerdict } from '../../../evaluation/evaluations/report/judge-gate.ts';
import { isLoopbackHost } from '../../../support/http/origin-guard.ts';
import {
  countText,
  differenceText,
  grouped,
  moneyText,
  NO_FIGURE,
  probabilitySentence,
  shareText,
  shareWithInterval,
  withInterval,
} from '../../../support/text/figures.ts';
import { printable } from '../../base/terminal.ts';

/** First line of the comment. A later run finds the comment by it. */
export const COMMENT_MARK = '<!-- proctor eval gate -->';

/** A task whose result changed, with links to its traces. */
export interface TaskLink {
  readonly taskId: string;
  /** Address of the baseline's trace; null if there is none. */
  readonly aUrl: string | null;
  readonly bUrl: string | null;
}

/** Changed tasks of one comparison. */
export interface ChangedTasks {
  readonly comparison: Comparison;
  readonly won: readonly TaskLink[];
  readonly lost: readonly TaskLink[];
}

export interface GateComment {
  readonly verdict: GateVerdict;
  readonly evaluation: EvaluationDetail;
  /** Models that the gate judged. */
  readonly reports: readonly Report[];
  readonly baseline?: EvaluationDetail | undefined;
  readonly comparisons?: ComparisonList | undefined;
  readonly changed: readonly ChangedTasks[];
}

const HEADLINES: Readonly<Record<GateVerdict['code'], string>> = {
  0: '✅ Passed',
  1: '❌ Failed',
  2: '⚠️ Cannot be judged',
  3: '❔ Inconclusive',
  4: '⚠️ Too much is missing',
};

/** Writes a pull request comment for a gate: the verdict, a small table and the changed tasks. */
export function toMarkdown(comment: GateComment): string {
  const { verdict, evaluation, baseline } = comment;
  const title = evaluation.name ?? evaluation.taskset.name ?? evaluation.evaluation_id;
  const lines = [
    COMMENT_MARK,
    `### ${HEADLINES[verdict.code]}: ${code(title)}`,
    '',
    ...verdict.checks.map(({ code: checkCode, sentence }) => `- ${MARKS[checkCode]} ${plain(sentence)}`),
    ...verdict.warnings.map((warning) => `- ⚠️ ${plain(warning)}`),
    '',
    ...tableOf(comment),
    '',
    ...comment.changed.flatMap(changedLines),
    `${placeOf('Evaluation', evaluation)}${baseline === undefined ? '' : `, against ${placeOf('its baseline', baseline)}`}. ` +
      `${countText(evaluation.taskset.tasks, 'task')}, ${countText(evaluation.attempts, 'attempt')} each, taskset ${code(evaluation.taskset.version.slice(0, 12))}.`,
    '',
  ];
  return lines.join('\n');
}

function placeOf(text: string, { evaluation_id, evaluation_url }: EvaluationDetail): string {
  return `${link(text, evaluation_url)} ${code(evaluation_id)}`;
}

const MARKS: Readonly<Record<GateVerdict['code'], string>> = { 0: '✅', 1: '❌', 2: '⚠️', 3: '❔', 4: '⚠️' };

function tableOf({ reports, comparisons }: GateComment): readonly string[] {
  const isCompared = comparisons !== undefined;
  const head = [
    'model',
    'mean [95 %]',
    'pass rate',
    'coverage',
    ...(isCompared ? ['against the baseline', 'won / lost'] : []),
    'cost',
  ];
  const rows = reports.map((report) => {
    const against = comparisons?.comparisons.find(({ b_model }) => b_model === report.model);
    return [
      code(report.model),
      plain(withInterval(report.mean, report.ci95)),
      plain(shareWithInterval(report.pass_rate.value, report.pass_rate.ci95)),
      plain(shareText(report.coverage)),
      ...(isCompared ? againstCells(against) : []),
      plain(moneyText(report.cost.total)),
    ];
  });
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}

function againstCells(against: Comparison | undefined): readonly string[] {
  if (against === undefined) return [NO_FIGURE, NO_FIGURE];
  const p = against.p_value === null ? '' : ` (${probabilitySentence(against.p_holm ?? against.p_value)})`;
  return [
    plain(`${differenceText(against.difference, against.ci95)}${p}`),
    `${grouped(against.won_count)} / ${grouped(against.lost_count)}`,
  ];
}

function changedLines({ comparison, won, lost }: ChangedTasks): readonly string[] {
  if (won.length + lost.length === 0) return [];
  const { b_model, won_count, lost_count } = comparison;
  return [
    `<details><summary>${code(b_model)}: ${grouped(won_count)} won, ${grouped(lost_count)} lost, ${grouped(comparison.tied_count)} tied</summary>`,
    '',
    ...taskLines('lost', lost, lost_count),
    ...taskLines('won', won, won_count),
    '</details>',
    '',
  ];
}

function taskLines(what: string, tasks: readonly TaskLink[], total: number): readonly string[] {
  if (tasks.length === 0) return [];
  const more = total > tasks.length ? [`- and ${grouped(total - tasks.length)} more`] : [];
  const lines = tasks.map(({ taskId, aUrl, bUrl }) => {
    const urls = [aUrl === null ? '' : link('before', aUrl), bUrl === null ? '' : link('now', bUrl)];
    const links = urls.filter((text) => text.startsWith('['));
    return `- ${what}: ${code(taskId, 100)}${links.length === 0 ? '' : ` (${links.join(', ')})`}`;
  });
  return [...lines, ...more, ''];
}

/**
 * Formats foreign text as code, so that GitHub finds no Markdown, HTML, mention, issue or emoji in it. Special
 * characters become entities.
 */
function code(text: string, length = 200): string {
  return `<code>${toEntities(printable(text, length))}</code>`;
}

/** Text that GitHub turns into links, mentions or emoji, even if it is written with entities. */
const WITH_MEANING = /[@#]|:[\w+-]+:|:\/\/|\bwww\.|\bGH-\d|\b[\da-f]{7,40}\b/i;

/** Formats our own sentences, which may contain foreign text. */
function plain(text: string): string {
  return WITH_MEANING.test(text) ? code(text, 600) : toEntities(printable(text, 600));
}

function toEntities(text: string): string {
  return text.replace(/[^\p{L}\p{N} .,%±;:()+/…−–-]/gu, (character) => `&#${character.codePointAt(0)};`);
}

/** Links our own pages. An address of this machine is left as text, since readers cannot open it. */
function link(text: string, url: string): string {
  const parsed = /^https?:\/\//i.test(url) && URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || isLoopbackHost(parsed.hostname)) return text;
  return `[${text}](<${parsed.href.replaceAll('<', '%3C').replaceAll('>', '%3E')}>)`;
}
