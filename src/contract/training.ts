import { z } from 'zod';
import { datasetManifestSchema, datasetSelectSchema, datasetSourceSchema } from './dataset.ts';
import { comparisonListSchema } from './evaluation.ts';
import { givenObjectSchema, jsonObjectSchema } from './json.ts';
import { checkpointSchema, registeredNameSchema } from './model.ts';
import { modelNameSchema, runRequestSchema } from './run.ts';
import { EVALUATION_LIMITS } from './task.ts';
import { timeSchema } from './trace.ts';
import { TRAINING_STATES } from './training-states.ts';

export const TRAINING_JOB_ID_PATTERN = /^train_[0-9a-f]{32}$/;

export const trainingStatusSchema = z.enum(TRAINING_STATES);

export const trainingMethodSchema = z.enum(['supervised', 'dpo']);
export type TrainingMethod = z.infer<typeof trainingMethodSchema>;

const tasksetNameSchema = z.string().min(1);

/** Body of `POST /v1/training/jobs`. */
export const trainingRequestSchema = z.object({
  /** The registered model that it makes. */
  name: registeredNameSchema,
  base: modelNameSchema,
  /** A name of `trainers` in the configuration, or `proctor/imitation`. */
  provider: z.string().min(1).max(200),
  from: datasetSourceSchema,
  select: datasetSelectSchema.prefault({}),
  method: trainingMethodSchema.default('supervised'),
  /** Sent to the provider as they are; at most 64 KiB. */
  hyperparameters: givenObjectSchema.default({}),
  /** Tasksets that are never trained on. */
  held_out: z.array(tasksetNameSchema).max(100).default([]),
  /** Evaluates base and checkpoint in the end. */
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

/** Why a job failed, and in which state. The message says what to do. */
export const trainingErrorSchema = z.object({
  code: z.string(),
  message: z.string(),
  status: trainingStatusSchema,
});
export type TrainingError = z.infer<typeof trainingErrorSchema>;

export const trainingProofSchema = z.object({
  base_evaluation: z.string(),
  model_evaluation: z.string(),
  /** a is the base, b the checkpoint: a positive difference is a gain. */
  compare: comparisonListSchema,
});
export type TrainingProof = z.infer<typeof trainingProofSchema>;

/** Answer of `GET /v1/training/jobs/{id}`. */
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
  /** Null until it is built. */
  dataset: datasetManifestSchema
    .pick({ format: true, hash: true, steps: true, lines: true, tasks: true, models: true })
    .nullable(),
  /** Ids of the provider: files, job, deployment. */
  provider_ids: z.record(z.string(), z.string()),
  progress: z.object({ done: z.number(), total: z.number() }).nullable(),
  checkpoints: z.array(checkpointSchema),
  /** The name of the finished model at the provider; null until there is one. */
  target: z.string().nullable(),
  /** The present hindrance, such as a provider that does not answer; null while it goes on. */
  trouble: z.object({ since: timeSchema, message: z.string() }).nullable(),
  error: trainingErrorSchema.nullable(),
  proof: trainingProofSchema.nullable(),
  /** Why there is no proof, where one was asked for. */
  proof_error: z.string().nullable(),
  /** The two evaluations, from when they begin. */
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

/** An event of a job, as the stream and `…/events` give it. */
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

/** An event before it has its place. */
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
      /** Lines that it takes at least. */
      minimum_lines: z.int(),
    }),
  ),
});
export type TrainerList = z.infer<typeof trainerListSchema>;
