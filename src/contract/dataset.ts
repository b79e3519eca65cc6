import { z } from 'zod';
import { modelNameSchema, runRequestSchema, runStatusSchema } from './run.ts';
import { originSchema } from './trace.ts';

/** The trainer that a line of `train.jsonl` is written for (contract section 9, "Dataset"). */
export const datasetFormatSchema = z.enum(['openai', 'openai-dpo', 'trl', 'axolotl', 'llama-factory', 'atif']);
export type DatasetFormat = z.infer<typeof datasetFormatSchema>;

/** How traces are chosen. */
export const datasetSelectSchema = z.object({
  min_reward: z.number().default(1),
  /** True: traces of `proctor/oracle` and other reference models too. */
  include_reference: z.boolean().default(false),
  max_per_task: z.int().min(1).max(1_000).default(4),
  /** `shortest`: fewest model calls, then tokens. `best`: highest reward, then shortest. `random`: by the seed. */
  choose: z.enum(['shortest', 'best', 'random']).default('shortest'),
  seed: z.int().default(0),
  /** Share of the tasks whose lines are for validation. */
  validation: z.number().min(0).max(0.5).default(0.1),
  /** `keep`: what a model thought stands in its messages, as `reasoning_content` or as its provider calls it. */
  reasoning: z.enum(['keep', 'drop']).default('keep'),
  /** Tasks of these splits alone, those of none among them where `train` is. Our choice; default: no trace is left out by it. */
  splits: z
    .array(z.enum(['train', 'validation']))
    .min(1)
    .optional(),
});
export type DatasetSelect = z.output<typeof datasetSelectSchema>;
export type DatasetSelectInput = z.input<typeof datasetSelectSchema>;

/** Filters as those of `GET /v1/traces`. */
export const datasetFilterSchema = z.object({
  env_name: z.string().min(1).optional(),
  scenario_name: z.string().min(1).optional(),
  model: modelNameSchema.optional(),
  status: runStatusSchema.optional(),
  origin: originSchema.optional(),
  min_reward: z.number().optional(),
  max_reward: z.number().optional(),
  /** ISO 8601, both inclusive. */
  since: z.iso.datetime({ offset: true }).optional(),
  until: z.iso.datetime({ offset: true }).optional(),
  metadata: runRequestSchema.shape.metadata.optional(),
});
export type DatasetFilter = z.output<typeof datasetFilterSchema>;

/** Where traces are taken from. */
export const datasetSourceSchema = z.union([
  z.strictObject({ evaluations: z.array(z.string().min(1)).min(1).max(100) }),
  z.strictObject({ filter: datasetFilterSchema }),
]);
export type DatasetSource = z.output<typeof datasetSourceSchema>;

/** The steps, in their order. */
const datasetStepSchema = z.enum(['select', 'deduplicate', 'choose', 'split', 'guard', 'render', 'validate']);
export type DatasetStepName = z.infer<typeof datasetStepSchema>;

/** One step: traces (pairs, from `choose` on, for `openai-dpo`) before and after it, and why the others were dropped. */
const datasetCountsSchema = z.object({
  step: datasetStepSchema,
  in: z.int(),
  out: z.int(),
  dropped: z.record(z.string(), z.int()),
});
export type DatasetCounts = z.infer<typeof datasetCountsSchema>;

/** `dataset.json`. It holds no time: the same traces give the same bytes. */
export const datasetManifestSchema = z.object({
  object: z.literal('dataset'),
  format: datasetFormatSchema,
  from: datasetSourceSchema,
  select: datasetSelectSchema,
  /** Names of the tasksets that were held out. */
  held_out: z.array(z.string()),
  steps: z.array(datasetCountsSchema),
  lines: z.object({ train: z.int(), validation: z.int() }),
  /** Distinct tasks: equal by environment, scenario and arguments. */
  tasks: z.object({ train: z.int(), validation: z.int() }),
  bytes: z.object({ train: z.int(), validation: z.int() }),
  /** An estimate, for all lines together. */
  tokens: z.int(),
  /** Traces by the model that played them. */
  models: z.record(z.string(), z.int()),
  /** SHA-256 of format, `train.jsonl` and `validation.jsonl`, hex. */
  hash: z.string(),
});
export type DatasetManifest = z.infer<typeof datasetManifestSchema>;

/** A line of `sources.jsonl`. Lines count from 1; `rejected_trace_id` is of pairs alone. */
export interface DatasetSourceLine {
  readonly file: 'train.jsonl' | 'validation.jsonl';
  readonly line: number;
  readonly trace_id: string;
  readonly rejected_trace_id?: string;
}

/** Names of the files of a dataset. */
export const DATASET_FILES = {
  train: 'train.jsonl',
  validation: 'validation.jsonl',
  sources: 'sources.jsonl',
  manifest: 'dataset.json',
  card: 'dataset.md',
} as const;
