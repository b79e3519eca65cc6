import { z } from 'zod';
import { givenObjectSchema, jsonObjectSchema } from '../json.ts';
import { checkpointSchema, registeredNameSchema } from '../model.ts';
import { EVALUATION_LIMITS } from '../task.ts';
import { datasetManifestSchema, datasetSelectSchema, datasetSourceSchema } from './dataset.ts';
import { comparisonListSchema } from './evaluation.ts';
import { modelNameSchema, runRequestSchema } from './run.ts';
import { timeSchema } from './trace.ts';
import { TRAINING_STATES } from './training-states.ts';

export const TRAINING_JOB_ID_PATTERN = /^train_[0-9a-f]{32}$/;

export const trainingStatusSchema = z.enum(TRAINING_STATES);

export const trainingMethodSchema = z.enum(['supervised', 'dpo']);
export type TrainingMethod = z.infer<typeof trainingMethodSchema>;

const tasksetNameSchema = z.string().min(1);

/** Body of `POST /v1/training/jobs`. */
export const trainingRequestSchema = z.object({
  /** Name of the registered model that the job creates. */
  name: registeredNameSchema,
  base: modelNameSchema,
  /** A name of `trainers` in the configuration, or `proctor/imitation`. */
  provider: z.string().min(1).max(200),
  from: datasetSourceSchema,
  select: datasetSelectSchema.prefault({}),
  method: trainingMethodSchema.default('supervised'),
  /** Sent to the provider unchanged; at most 64 KiB. */
  hyperparameters: givenObjectSchema.default({}),
  /** Tasksets that are never trained on. */
  held_out: z.array(tasksetNameSchema).max(100).default([]),
  /** Evaluates the base and the checkpoint at the end of the job. */
  evaluate: z
    .object({
      /** Default: the tasksets of `held_out`. */
      tasks: z.union([tasksetNameSchema, z.array(tasksetNameSchema).min(1).max(100)]).optional(),
      attempts: z.int().min(1).max(EVALUATION_LIMITS.attempts).default(1),
      seed: z.int().nullable().default(null),
    })
    .nullable()
    .default(null),
  metadata: runRequestSchema.shape.metadata,
});
export type TrainingRequest = z.output<typeof trainingRequestSchema>;
export type TrainingInput = z.input<typeof trainingRequestSchema>;

export const trainingAcceptedSchema = z.object({
  job_id: z.string(),
  job_url: z.string(),
  status: trainingStatusSchema,
});
export type TrainingAccepted = z.infer<typeof trainingAcceptedSchema>;

/** The reason why a job failed, and the state in which it failed. The message says what to do. */
export const trainingErrorSchema = z.object({
  code: z.string(),
  message: z.string(),
  status: trainingStatusSchema,
});
export type TrainingError = z.infer<typeof trainingErrorSchema>;

/**
 * The model compared with its base. `open` means that the confidence interval allows no verdict, or that there is no
 * interval.
 */
export const proofVerdictSchema = z.enum(['better', 'worse', 'equal', 'open']);
export type ProofVerdict = z.infer<typeof proofVerdictSchema>;

export const trainingProofSchema = z.object({
  base_evaluation: z.string(),
  model_evaluation: z.string(),
  verdict: proofVerdictSchema,
  /** a is the base and b the checkpoint, so a positive difference is a gain. */
  compare: comparisonListSchema,
});
export type TrainingProof = z.infer<typeof trainingProofSchema>;

/** A job in a list. */
export const trainingJobSchema = z.object({
  object: z.literal('training_job'),
  job_id: z.string(),
  job_url: z.string(),
  name: z.string(),
  base: z.string(),
  provider: z.string(),
  method: trainingMethodSchema,
  status: trainingStatusSchema,
  cancel_requested: z.boolean(),
  from: datasetSourceSchema,
  select: datasetSelectSchema,
  hyperparameters: jsonObjectSchema,
  held_out: z.array(z.string()),
  evaluate: z.object({ tasks: z.array(z.string()), attempts: z.int(), seed: z.int().nullable() }).nullable(),
  metadata: z.record(z.string(), z.string()),
  created_at: timeSchema,
  started_at: timeSchema.nullable(),
  finished_at: timeSchema.nullable(),
  /** Null until the dataset is built. */
  dataset: datasetManifestSchema
    .pick({ format: true, hash: true, steps: true, lines: true, tasks: true, models: true })
    .nullable(),
  /** Ids at the provider: files, job, deployment. */
  provider_ids: z.record(z.string(), z.string()),
  progress: z.object({ done: z.number(), total: z.number() }).nullable(),
  checkpoints: z.array(checkpointSchema),
  /** The provider's name of the finished model; null until the model is finished. */
  target: z.string().nullable(),
  /** The present obstacle, such as a provider that does not answer; null while the job makes progress. */
  trouble: z.object({ since: timeSchema, message: z.string() }).nullable(),
  error: trainingErrorSchema.nullable(),
  proof: trainingProofSchema.nullable(),
  /** The reason why a requested proof is missing. */
  proof_error: z.string().nullable(),
  /** The two evaluations of the proof; each is null until it starts. */
  evaluations: z.object({ base: z.string().nullable(), model: z.string().nullable() }),
});
export type TrainingJob = z.infer<typeof trainingJobSchema>;

export const trainingJobListSchema = z.object({
  object: z.literal('list'),
  data: z.array(trainingJobSchema),
  next_cursor: z.string().nullable(),
});
export type TrainingJobList = z.infer<typeof trainingJobListSchema>;

const eventFields = { seq: z.int(), at: timeSchema };

/** An event of a job, in its stream and in `…/events`. */
export const trainingEventSchema = z.discriminatedUnion('type', [
  z.object({
    ...eventFields,
    type: z.literal('status'),
    status: trainingStatusSchema,
    message: z.string().nullable(),
  }),
  z.object({
    ...eventFields,
    type: z.literal('log'),
    level: z.enum(['info', 'warning', 'error']),
    message: z.string(),
  }),
  z.object({ ...eventFields, type: z.literal('progress'), done: z.number(), total: z.number() }),
  z.object({
    ...eventFields,
    type: z.literal('metrics'),
    step: z.number(),
    metrics: z.record(z.string(), z.number()),
  }),
  z.object({ ...eventFields, type: z.literal('checkpoint'), checkpoint: checkpointSchema }),
]);
export type TrainingEvent = z.infer<typeof trainingEventSchema>;

/** Number of events and metrics in a job's answer, the newest. `…/events` has all. */
export const SHOWN_EVENTS = { events: 100, metrics: 1_000 } as const;

/** Answer of `GET /v1/training/jobs/{id}`. */
export const trainingJobDetailSchema = trainingJobSchema.extend({
  /** The newest 100 events of all types, in order. */
  events: z.array(trainingEventSchema),
  /** The newest 1,000, in order. */
  metrics: z.array(z.object({ step: z.number(), metrics: z.record(z.string(), z.number()) })),
});
export type TrainingJobDetail = z.infer<typeof trainingJobDetailSchema>;

/** An event before it has a number and a time. */
export type NewTrainingEvent = TrainingEvent extends infer Event
  ? Event extends TrainingEvent
    ? Omit<Event, 'seq' | 'at'>
    : never
  : never;

export const trainerListSchema = z.object({
  object: z.literal('list'),
  data: z.array(
    z.object({
      name: z.string(),
      kind: z.enum(['openai', 'together', 'fireworks', 'command', 'imitation']),
      methods: z.array(trainingMethodSchema),
      /** Smallest number of lines that the trainer accepts. */
      minimum_lines: z.int(),
    }),
  ),
});
export type TrainerList = z.infer<typeof trainerListSchema>;
