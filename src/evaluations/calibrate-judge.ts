import { z } from 'zod';
import type { Usage } from '../contract/chat.ts';
import { type JudgeScale, type JudgeVote, judgeScaleSchema } from '../contract/judge.ts';
import { sumUsage } from '../contract/usage.ts';
import type { ChatModel } from '../model/chat-model.ts';
import { judge } from '../rollout/judge.ts';
import { agreementOf, type RatedCase } from '../statistics/agreement.ts';

/** Numbers of votes that are compared. All are asked once; fewer are the first of them. */
const CALIBRATED_VOTES = [1, 3, 5] as const;
const MOST_VOTES = 5;

const labelledCaseSchema = z.strictObject({
  id: z.string().min(1),
  rubric: z.string().min(1),
  /** Text, or JSON. */
  material: z.json(),
  /** Yes or no, or a number of the scale. */
  label: z.union([z.boolean(), z.number()]),
  scale: judgeScaleSchema.default('boolean'),
  context: z.string().nullable().default(null),
});
export type LabelledCase = z.output<typeof labelledCaseSchema>;

export interface Calibration {
  readonly cases: number;
  readonly by_votes: readonly {
    readonly votes: number;
    readonly agreement: number;
    readonly kappa: number | null;
    readonly kappa_ci95: readonly [number, number] | null;
    readonly confusion: {
      readonly both_yes: number;
      readonly both_no: number;
      readonly label_yes_only: number;
      readonly judge_yes_only: number;
    };
    readonly cost_usd: number | null;
    readonly disagreements: readonly {
      readonly id: string;
      readonly label: boolean | number;
      readonly score: number;
      readonly reasons: readonly string[];
    }[];
  }[];
}

/**
 * Reads labelled cases, one JSON object a line; empty lines are left out.
 *
 * @throws Error that names the line and the field.
 */
export function readLabelledCases(text: string, file: string): readonly LabelledCase[] {
  const cases: LabelledCase[] = [];
  const ids = new Set<string>();
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const where = `${file}:${index + 1}`;
    const parsed = labelledCaseSchema.safeParse(parseLine(line, where));
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw new Error(`${where}: ${issue?.path.join('.') || 'the line'}: ${issue?.message}`);
    }
    const { id, label, scale } = parsed.data;
    if (ids.has(id)) throw new Error(`${where}: id: ${JSON.stringify(id)} is there already`);
    const fault = faultOf(label, scale);
    if (fault !== undefined) throw new Error(`${where}: label: ${fault}`);
    ids.add(id);
    cases.push(parsed.data);
  }
  if (cases.length === 0) throw new Error(`${file} holds no case: write one JSON object a line`);
  if (cases.some(({ scale }) => (scale === 'boolean') !== (cases[0]?.scale === 'boolean'))) {
    throw new Error(`${file} holds cases with yes or no and cases with numbers: put them into two files`);
  }
  return cases;
}

export interface CalibrateOptions {
  readonly cases: readonly LabelledCase[];
  createModel(): ChatModel;
  /** Cases that are judged at a time. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
  onJudged?(done: number): void;
}

/** Has the model judge every case with five votes. @throws Error that names the case which could not be judged. */
export async function calibrateJudge(options: CalibrateOptions): Promise<Calibration> {
  const { cases } = options;
  const judged: Judged[] = [];
  const waiting = [...cases.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, each] = next;
      judged[index] = await judgeCase(each, options);
      options.onJudged?.(judged.filter(Boolean).length);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, work));
  return { cases: cases.length, by_votes: CALIBRATED_VOTES.map((votes) => summarize(judged, votes)) };
}

interface Judged {
  readonly labelled: LabelledCase;
  readonly votes: readonly JudgeVote[];
  readonly usages: readonly Usage[];
}

async function judgeCase(labelled: LabelledCase, { createModel, signal }: CalibrateOptions): Promise<Judged> {
  const { id, rubric, material, scale, context } = labelled;
  const text = typeof material === 'string' ? material : JSON.stringify(material);
  try {
    const { votes, usages } = await judge({
      request: { rubric, material: text, scale, model: null, votes: MOST_VOTES, context },
      createModel,
      seedOf: (vote) => vote,
      signal,
    });
    return { labelled, votes, usages };
  } catch (cause) {
    signal.throwIfAborted();
    throw new Error(`The case ${JSON.stringify(id)} could not be judged: ${(cause as Error).message}`, { cause });
  }
}

function summarize(judged: readonly Judged[], votes: number): Calibration['by_votes'][number] {
  const rated = judged.map(({ labelled, votes: cast }): RatedCase & { readonly of: Judged } => ({
    label: toUnit(labelled.label, labelled.scale),
    score: mean(cast.slice(0, votes).map(({ score }) => score)),
    of: { labelled, votes: cast.slice(0, votes), usages: [] },
  }));
  const { agreement, kappa, kappaCi95, confusion } = agreementOf(rated, judged[0]?.labelled.scale !== 'boolean');
  const { cost_usd } = sumUsage(judged.flatMap(({ usages }) => usages));
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
    // Votes of one question cost alike.
    cost_usd: cost_usd === null ? null : (cost_usd * votes) / MOST_VOTES,
    disagreements: rated
      .filter(({ label, score }) => label >= 0.5 !== score >= 0.5)
      .map(({ of: { labelled, votes: cast }, score }) => ({
        id: labelled.id,
        label: labelled.label,
        score,
        reasons: cast.map(({ reason }) => reason),
      })),
  };
}

function faultOf(label: boolean | number, scale: JudgeScale): string | undefined {
  if (scale === 'boolean') return typeof label === 'boolean' ? undefined : `${label} is neither true nor false`;
  if (typeof label !== 'number') return `${label} is no number of the scale`;
  return label < scale.min || label > scale.max ? `${label} is not from ${scale.min} to ${scale.max}` : undefined;
}

function toUnit(label: boolean | number, scale: JudgeScale): number {
  if (typeof label === 'boolean' || scale === 'boolean') return Number(label);
  return (label - scale.min) / (scale.max - scale.min);
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
}

function parseLine(line: string, where: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new Error(`${where}: it is not JSON (${(cause as Error).message})`, { cause });
  }
}
