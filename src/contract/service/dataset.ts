import { z } from 'zod';
import { taskSchema } from '../task.ts';
import { modelNameSchema, runRequestSchema, runStatusSchema } from './run.ts';
import { originSchema } from './trace.ts';

const tasksetNameSchema = z.string().min(1);

/** The trainer that a line of `train.jsonl` is written for (contract section 9, "Dataset"). */
export const datasetFormatSchema = z.enum(['openai', 'openai-dpo', 'trl', 'axolotl', 'llama-factory', 'atif']);
export type DatasetFormat = z.infer<typeof datasetFormatSchema>;

/** Rules that choose traces. */
export const datasetSelectSchema = z.object({
  min_reward: z.number().default(1),
  /** True includes traces of `proctor/oracle` and other reference models. */
  include_reference: z.boolean().default(false),
  max_per_task: z.int().min(1).max(1_000).default(4),
  /**
   * `shortest`: fewest model calls, then fewest tokens. `best`: highest reward, then shortest. `random`: chosen by the
   * seed.
   */
  choose: z.enum(['shortest', 'best', 'random']).default('shortest'),
  seed: z.int().default(0),
  /** Share of the tasks whose lines go to validation. */
  validation: z.number().min(0).max(0.5).default(0.1),
  /** `keep` leaves the model's reasoning in its messages, as `reasoning_content` or under the provider's name. */
  reasoning: z.enum(['keep', 'drop']).default('keep'),
  /**
   * Use only tasks of these splits. A task without a split counts as `train`. Without this field no trace is left out.
   * Our choice.
   */
  splits: z
    .array(z.enum(['train', 'validation']))
    .min(1)
    .optional(),
});
export type DatasetSelect = z.output<typeof datasetSelectSchema>;
export type DatasetSelectInput = z.input<typeof datasetSelectSchema>;

/** The same filters as those of `GET /v1/traces`. */
export const datasetFilterSchema = z.object({
  env_name: z.string().min(1).optional(),
  scenario_name: z.string().min(1).optional(),
  model: modelNameSchema.optional(),
  status: runStatusSchema.optional(),
  origin: originSchema.optional(),
  min_reward: z.number().optional(),
  max_reward: z.number().optional(),
  /** ISO 8601. Both ends are inclusive. */
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

/** Body of `POST /v1/datasets`. */
export const datasetBuildSchema = z.object({
  from: datasetSourceSchema,
  format: datasetFormatSchema.default('openai'),
  select: datasetSelectSchema.prefault({}),
  /** Tasks that must not be trained on: names of tasksets of the service, or tasks in the request. */
  held_out: z
    .array(z.union([tasksetNameSchema, z.strictObject({ name: tasksetNameSchema, tasks: z.array(taskSchema) })]))
    .max(100)
    .default([]),
});
export type DatasetBuildInput = z.input<typeof datasetBuildSchema>;

/** The steps of a build, in order. */
const datasetStepSchema = z.enum(['select', 'deduplicate', 'choose', 'split', 'guard', 'render', 'validate']);
export type DatasetStepName = z.infer<typeof datasetStepSchema>;

/**
 * Traces before and after one step, and the reasons for dropping the others. For `openai-dpo` it counts pairs from
 * `choose` on.
 */
const datasetCountsSchema = z.object({
  step: datasetStepSchema,
  in: z.int(),
  out: z.int(),
  dropped: z.record(z.string(), z.int()),
});
export type DatasetCounts = z.infer<typeof datasetCountsSchema>;

/** `dataset.json`. It holds no time, so that the same traces give the same bytes. */
export const datasetManifestSchema = z.object({
  object: z.literal('dataset'),
  format: datasetFormatSchema,
  from: datasetSourceSchema,
  select: datasetSelectSchema,
  /** Names of the tasksets that were held out. */
  held_out: z.array(z.string()),
  steps: z.array(datasetCountsSchema),
  lines: z.object({ train: z.int(), validation: z.int() }),
  /** Distinct tasks. Two tasks are equal when environment, scenario and arguments are. */
  tasks: z.object({ train: z.int(), validation: z.int() }),
  bytes: z.object({ train: z.int(), validation: z.int() }),
  /** Estimated tokens of all lines together. */
  tokens: z.int(),
  /** Number of traces by the model that played them. */
  models: z.record(z.string(), z.int()),
  /** SHA-256, in hex, over the format, `train.jsonl` and `validation.jsonl`. */
  hash: z.string(),
});
export type DatasetManifest = z.infer<typeof datasetManifestSchema>;

/** A line of `sources.jsonl`. Line numbers count from 1; only pairs have `rejected_trace_id`. */
export interface DatasetSourceLine {
  readonly file: 'train.jsonl' | 'validation.jsonl';
  readonly line: number;
  readonly trace_id: string;
  readonly rejected_trace_id?: string;
}

/** An event in the answer of `POST /v1/datasets`. The last event is `dataset`. */
export type DatasetPart =
  | { readonly type: 'progress'; readonly step: DatasetStepName; readonly done: number }
  /** The next piece of a file's text. */
  | { readonly type: 'file'; readonly file: (typeof DATASET_FILES)[keyof typeof DATASET_FILES]; readonly text: string }
  | { readonly type: 'dataset'; readonly manifest: DatasetManifest };

/** Names of the files of a dataset. */
export const DATASET_FILES = {
  train: 'train.jsonl',
  validation: 'validation.jsonl',
  sources: 'sources.jsonl',
  manifest: 'dataset.json',
  card: 'dataset.md',
} as const;
