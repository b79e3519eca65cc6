import { ApiError, messageOf } from '../../../contract/errors.ts';
import {
  CALIBRATED_VOTES,
  type CalibratedVotes,
  type Calibration,
  type JudgeScale,
  type JudgeVote,
  type LabelledCase,
} from '../../../contract/service/judge.ts';
import type { ChatModel } from '../../../models/gateway/chat-model.ts';
import { judge } from '../../../rollout/session/judge/judge.ts';
import { toPublicMessage } from '../../../support/redaction/machine-text.ts';
import { agreementOf } from '../../statistics/agreement.ts';
import { materialOf } from './labelled-cases.ts';

/** Failures without any verdict until the rest is skipped. */
const HOPELESS = 3;

export interface CalibrateOptions {
  /** One or more. */
  readonly cases: readonly LabelledCase[];
  createModel(): ChatModel;
  /** The most votes of a case. Default 5. */
  readonly votes?: CalibratedVotes | undefined;
  /** Cases that are judged concurrently. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
  onJudged?(done: number): void;
}

/**
 * Lets the model judge every case. Cases that could not be judged are listed in the result.
 *
 * @throws the signal's reason; ApiError `model_failed` with the first case if none could be judged.
 */
export async function calibrateJudge(options: CalibrateOptions): Promise<Calibration> {
  const { cases, votes: most = 5, signal } = options;
  const judged: CaseVotes[] = [];
  const failed: { readonly index: number; readonly id: string; readonly message: string }[] = [];
  const isHopeless = () => failed.length >= HOPELESS && judged.length === 0;
  const waiting = cases.values();
  const work = async () => {
    for (const labelled of waiting) {
      if (isHopeless()) return;
      try {
        judged.push(await judgeCase(labelled, most, options));
      } catch (thrown) {
        signal.throwIfAborted();
        failed.push({ index: cases.indexOf(labelled), id: labelled.id, message: toPublicMessage(messageOf(thrown)) });
      }
      options.onJudged?.(judged.length + failed.length);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, work));
  const [first] = failed.sort((a, b) => a.index - b.index);
  if (judged.length === 0) {
    throw new ApiError('model_failed', `The case ${JSON.stringify(first?.id)} could not be judged: ${first?.message}`);
  }
  const order = new Map(cases.map((labelled, index) => [labelled, index]));
  judged.sort((a, b) => (order.get(a.labelled) ?? 0) - (order.get(b.labelled) ?? 0));
  return {
    cases: judged.length,
    by_votes: CALIBRATED_VOTES.filter((votes) => votes <= most).map((votes) => summarize(judged, votes)),
    ...(failed.length === 0 ? {} : { failed: failed.map(({ id, message }) => ({ id, message })) }),
  };
}

interface CaseVotes {
  readonly labelled: LabelledCase;
  readonly votes: readonly JudgeVote[];
  /** US dollars of each vote. */
  readonly costs: readonly (number | null)[];
}

async function judgeCase(
  labelled: LabelledCase,
  most: number,
  { createModel, signal }: CalibrateOptions,
): Promise<CaseVotes> {
  const { rubric, scale, context } = labelled;
  const costs: (number | null)[] = Array.from({ length: most }, () => 0);
  const { votes } = await judge({
    request: { rubric, material: materialOf(labelled), scale, model: null, votes: most, context },
    createModel,
    seedOf: (vote) => vote,
    onUsage: ({ cost_usd }, vote) => {
      costs[vote - 1] = addCost(costs[vote - 1] ?? null, cost_usd);
    },
    signal,
  });
  return { labelled, votes, costs };
}

function summarize(judged: readonly CaseVotes[], votes: number): Calibration['by_votes'][number] {
  const rated = judged.map(({ labelled, votes: cast }) => ({
    labelled,
    label: toUnit(labelled.label, labelled.scale),
    score: mean(cast.slice(0, votes).map(({ score }) => score)),
    reasons: cast.slice(0, votes).map(({ reason }) => reason),
  }));
  const { agreement, kappa, kappaCi95, confusion } = agreementOf(rated, judged[0]?.labelled.scale !== 'boolean');
  return {
    votes,
    agreement,
    kappa,
    kappa_ci95: kappaCi95,
    confusion: {
      both_yes: confusion.bothYes,
      both_no: confusion.bothNo,
      label_yes_only: confusion.labelYesOnly,
      judge_yes_only: confusion.scoreYesOnly,
    },
    cost_usd: judged.flatMap(({ costs }) => costs.slice(0, votes)).reduce(addCost, 0),
    disagreements: rated
      .filter(({ label, score }) => label >= 0.5 !== score >= 0.5)
      .map(({ labelled: { id, label }, score, reasons }) => ({ id, label, score, reasons })),
  };
}

/** Adds costs. The sum is unknown if one of them is. */
function addCost(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : one + other;
}

function toUnit(label: boolean | number, scale: JudgeScale): number {
  if (typeof label === 'boolean' || scale === 'boolean') return Number(label);
  return (label - scale.min) / (scale.max - scale.min);
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
}
