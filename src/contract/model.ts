import { z } from 'zod';
import { modelNameSchema } from './service/run.ts';
import { timeSchema } from './service/trace.ts';

/** Names of registered models. They have no `/`, `:` or `@`, because names of providers and checkpoints use those. */
export const REGISTERED_NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export const registeredNameSchema = z
  .string()
  .regex(REGISTERED_NAME_PATTERN, '1 to 64 letters, digits, ".", "_" and "-"');
/** A training step, counted from 0. */
const stepSchema = z.int().min(0);

export const checkpointSchema = z.object({
  step: stepSchema,
  /** The provider's name of the checkpoint. */
  target: modelNameSchema,
  /** Metrics as the trainer reported them, such as `train_loss`. */
  metrics: z.record(z.string(), z.number()).default({}),
});
export type Checkpoint = z.output<typeof checkpointSchema>;

/** Body of `POST /v1/models/registered` (contract section 9, "Registry"). */
export const registeredModelInputSchema = z.object({
  name: registeredNameSchema,
  /** The provider's name, which is sent to the gateway. */
  target: modelNameSchema,
  /** The model that this one was trained from. */
  base: modelNameSchema.nullable().default(null),
  /** A key of `gateways` in the configuration. Null selects the first gateway whose pattern fits the target. */
  gateway: z.string().min(1).max(512).nullable().default(null),
  /** The training step of the checkpoint that the bare name means. Null means `target`. */
  head: stepSchema.nullable().default(null),
  checkpoints: z.array(checkpointSchema).max(10_000).default([]),
});
export type RegisteredModelInput = z.input<typeof registeredModelInputSchema>;
export type NewRegisteredModel = z.output<typeof registeredModelInputSchema>;

/**
 * Body of `PATCH /v1/models/registered/{name}`. Fields that are left out stay. Checkpoints are added; one of a known
 * step is replaced.
 */
export const registeredModelPatchSchema = z.object({
  target: modelNameSchema.optional(),
  base: modelNameSchema.nullable().optional(),
  gateway: z.string().min(1).max(512).nullable().optional(),
  head: stepSchema.nullable().optional(),
  checkpoints: z.array(checkpointSchema).max(10_000).optional(),
});
export type RegisteredModelPatch = z.input<typeof registeredModelPatchSchema>;

export const registeredModelSchema = z.object({
  object: z.literal('registered_model'),
  name: z.string(),
  gateway: z.string().nullable(),
  target: z.string(),
  base: z.string().nullable(),
  head: z.int().nullable(),
  /** Sorted by step. */
  checkpoints: z.array(checkpointSchema),
  training_job: z.string().nullable(),
  created_at: timeSchema,
});
export type RegisteredModel = z.infer<typeof registeredModelSchema>;

export const registeredModelListSchema = z.object({ object: z.literal('list'), data: z.array(registeredModelSchema) });
export type RegisteredModelList = z.infer<typeof registeredModelListSchema>;

/** The gateway and the name there that a model's name means at one moment. */
export interface ResolvedModel {
  /** The name in the request. */
  readonly model: string;
  /** The provider's name. */
  readonly target: string;
  /** A key of `gateways` in the configuration. Null selects a gateway by pattern of the target. */
  readonly gateway: string | null;
}
