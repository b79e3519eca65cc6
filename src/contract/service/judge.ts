import { z } from 'zod';

/** Largest number of votes of a judge on one question. */
const MAX_JUDGE_VOTES = 25;
/** Largest number of characters of material that a judge reads. */
export const MAX_JUDGE_MATERIAL = 200_000;

/** `boolean`, or numbers from `min` to `max`. */
export const judgeScaleSchema = z.union([
  z.literal('boolean'),
  z.object({ min: z.number(), max: z.number() }).refine(({ min, max }) => min < max, 'min has to be below max'),
]);
export type JudgeScale = z.infer<typeof judgeScaleSchema>;

export const judgeVoteSchema = z.object({
  /** From 0 to 1. */
  score: z.number(),
  reason: z.string(),
});
export type JudgeVote = z.infer<typeof judgeVoteSchema>;

/** A question for a judge, as an evaluation sends it to its harness. */
export const judgeRequestSchema = z.object({
  rubric: z.string().min(1),
  /** A text, or any other value as JSON. */
  material: z.string(),
  scale: judgeScaleSchema.default('boolean'),
  model: z.string().nullable().default(null),
  votes: z.int().min(1).max(MAX_JUDGE_VOTES).default(1),
  context: z.string().nullable().default(null),
});
export type JudgeRequest = z.infer<typeof judgeRequestSchema>;

export const judgementSchema = z.object({
  /** Mean of the votes, from 0 to 1. */
  score: z.number(),
  reasons: z.array(z.string()),
  votes: z.array(judgeVoteSchema),
  /** Agreement of the votes, from 0 to 1. */
  agreement: z.number(),
});
export type Judgement = z.infer<typeof judgementSchema>;

/** Numbers of votes that a calibration compares. The judge gives the most votes once; fewer votes are the first of them. */
export const CALIBRATED_VOTES = [1, 3, 5] as const;
export type CalibratedVotes = (typeof CALIBRATED_VOTES)[number];
/** Largest values of a calibration's request. */
const CALIBRATION_LIMITS = { cases: 10_000, concurrency: 100 } as const;

/** Material with the label of a person. */
export const labelledCaseSchema = z.strictObject({
  /** Unique among the cases. */
  id: z.string().min(1),
  rubric: z.string().min(1),
  /** Text or JSON for the judge. */
  material: z.json(),
  /** A boolean, or a number on the scale. */
  label: z.union([z.boolean(), z.number()]),
  scale: judgeScaleSchema.default('boolean'),
  context: z.string().nullable().default(null),
});
export type LabelledCase = z.output<typeof labelledCaseSchema>;

/** Body of `POST /v1/calibrations`. */
export const calibrationRequestSchema = z.object({
  /** The judge. Default: `models.judge` of the service. */
  model: z.string().min(1).optional(),
  /** All on yes or no, or all on numbers. */
  cases: z.array(labelledCaseSchema).min(1).max(CALIBRATION_LIMITS.cases),
  /** The most votes of a case. */
  votes: z.literal(CALIBRATED_VOTES).default(5),
  /** Cases that are judged at a time. */
  concurrency: z.int().min(1).max(CALIBRATION_LIMITS.concurrency).default(4),
});
export type CalibrationInput = z.input<typeof calibrationRequestSchema>;

/** How well a judge agrees with labels of people. */
export interface Calibration {
  /** Number of judged cases. */
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
    /** US dollars; null if a call's cost is unknown. */
    readonly cost_usd: number | null;
    readonly disagreements: readonly {
      readonly id: string;
      readonly label: boolean | number;
      readonly score: number;
      readonly reasons: readonly string[];
    }[];
  }[];
  /** Cases that could not be judged, which no figure counts; absent without any. */
  readonly failed?: readonly { readonly id: string; readonly message: string }[];
}

/** An event in the answer of `POST /v1/calibrations`. The last event is `calibration`. */
export type CalibrationEvent =
  /** Cases that were tried, of all `cases`. */
  | { readonly type: 'progress'; readonly done: number; readonly cases: number }
  | { readonly type: 'calibration'; readonly model: string; readonly calibration: Calibration };
