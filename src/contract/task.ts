import { z } from 'zod';
import { jsonObjectSchema } from './json.ts';
import { MAX_STEPS } from './names.ts';

/** 1 to 200 characters, none of them a control character. */
const taskIdSchema = z
  .string()
  .min(1)
  .max(200)
  .regex(/^\P{Cc}*$/u, 'without control characters');

const splitSchema = z.enum(['train', 'validation', 'test']);

/** Lines of the simulated user, for `proctor/user-script`. Our choice: as many as a conversation may have replies. */
const userScriptSchema = z.array(z.string()).max(500);

const taskFields = {
  id: taskIdSchema,
  env: z.string().min(1),
  scenario: z.string().min(1),
  args: jsonObjectSchema.default({}),
  split: splitSchema.nullable().default(null),
  tags: z.array(z.string()).default([]),
  /** Name of a group of dependent tasks. Standard errors are computed over clusters. Default: the id of the task. */
  cluster: z
    .string()
    .min(1)
    .regex(/^[^\0]*$/)
    .optional(),
  /** True for a task that must not be trained on. */
  held_out: z.boolean().default(false),
  max_steps: z.int().min(1).max(MAX_STEPS.maximum).optional(),
  /** Seconds. */
  timeout_seconds: z.int().min(1).max(86_400).optional(),
  /** Overrides the scenario argument of this name. */
  user_script: userScriptSchema.optional(),
};

/** A task as a client sends it: unknown fields are ignored. */
export const taskSchema = z.object(taskFields).transform((task) => ({ ...task, cluster: task.cluster ?? task.id }));
/** A task as a file holds it: unknown fields are refused. */
export const taskLineSchema = z
  .strictObject(taskFields)
  .transform((task) => ({ ...task, cluster: task.cluster ?? task.id }));

/** A task with its defaults filled in. */
export type Task = z.output<typeof taskSchema>;
export type TaskInput = z.input<typeof taskSchema>;

/** An entry of the resource `svc://tasks/{scenario}`. Environment and scenario follow from the resource. */
export const declaredTaskSchema = z.strictObject({
  id: taskFields.id,
  args: taskFields.args,
  split: taskFields.split,
  tags: taskFields.tags,
  cluster: taskFields.cluster,
  user_script: taskFields.user_script,
});
export type DeclaredTask = z.output<typeof declaredTaskSchema>;

/** Answer of `GET /v1/tasksets`. A taskset that cannot be read has a reason instead of a version. */
export const tasksetListSchema = z.object({
  object: z.literal('list'),
  data: z.array(
    z.object({
      name: z.string(),
      version: z.string().nullable(),
      tasks: z.int().nullable(),
      error: z.string().nullable(),
    }),
  ),
});
export type TasksetList = z.infer<typeof tasksetListSchema>;

/** Limits of one evaluation. */
export const EVALUATION_LIMITS = {
  tasks: 100_000,
  attempts: 1_000,
  attemptsInAll: 1_000_000,
  bodyBytes: 64 * 1_024 * 1_024,
} as const;
