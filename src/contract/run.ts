import { z } from 'zod';
import { agentToolSchema } from './chat.ts';
import { FORBIDDEN_NAME, givenObjectSchema, isJsonObject, jsonSchemaSchema, scenarioArgsSchema } from './json.ts';
import { MAX_STEPS } from './names.ts';

/** Limits of a run's metadata. Our choice: enough to search by. */
export const METADATA_LIMITS = { keys: 64, keyCharacters: 64, valueCharacters: 512 } as const;

/** Without zero characters, which cannot be stored, and no longer than what an index of a database takes. Our choice. */
export const modelNameSchema = z
  .string()
  .regex(/^[^\0]*$/)
  .min(1)
  .max(512);

/** An object of strings. Not a record of zod, which drops `__proto__` without a word. */
const metadataSchema: z.ZodType<Record<string, string>, Record<string, string>> = z
  .custom<Record<string, string>>(isJsonObject, 'an object of strings')
  .superRefine((metadata, context) => {
    for (const [key, value] of Object.entries(metadata)) {
      const isForbidden = key === '__proto__';
      if (!isForbidden && typeof value === 'string') continue;
      context.addIssue({ code: 'custom', path: [key], message: isForbidden ? FORBIDDEN_NAME : 'a string' });
    }
  })
  .meta({ type: 'object', additionalProperties: { type: 'string' }, maxProperties: METADATA_LIMITS.keys });

/** Name of an agent that plays as a command (contract section 8). */
export const agentNameSchema = z
  .string()
  .regex(/^[^\0]*$/)
  .min(1)
  .max(1_000);

/** Body of `POST /v1/agent/run` (specification, "Run request"; the optional fields are the contract's). */
export const runRequestSchema = z.object({
  env_name: z.string().min(1),
  scenario_name: z.string().min(1),
  scenario_args: scenarioArgsSchema.default({}),
  model: modelNameSchema,
  max_steps: z.int().min(1).max(MAX_STEPS.maximum).default(MAX_STEPS.default),
  timeout_seconds: z.int().min(1).max(86_400).default(3_600),
  seed: z.int().nullable().default(null),
  metadata: metadataSchema.default({}),
  priority: z.int().min(0).max(9).default(0),
  sampling: givenObjectSchema.meta({ description: 'Sent to the gateway; at most 64 KiB as JSON' }).default({}),
  /** The agent that plays, a command of the worker; null: the model plays by itself. */
  agent: agentNameSchema.nullable().default(null),
});
/** As a client sends it: `model` may be missing where the agent brings its own. */
export const runBodySchema = runRequestSchema.extend({ model: modelNameSchema.optional() });
export type RunRequest = z.infer<typeof runRequestSchema>;
/** As a client sends it: what has a default may be left out. */
export type RunInput = z.input<typeof runBodySchema>;

export const runStatusSchema = z.enum(['queued', 'running', 'completed', 'failed', 'cancelled']);
export type RunStatus = z.infer<typeof runStatusSchema>;

/** Answer of `POST /v1/agent/run`; `reward` and `answer` are there with `Prefer: wait` alone. */
export const runAcceptedSchema = z.object({
  trace_id: z.string(),
  trace_url: z.string(),
  status: runStatusSchema,
  reward: z.number().nullable().optional(),
  answer: z.json().optional(),
});
export type RunAccepted = z.infer<typeof runAcceptedSchema>;

const environmentFields = { name: z.string(), description: z.string(), version: z.string() };

/**
 * An environment that could be started, its initialize hook included, or why not. Warnings name scenarios whose runs will
 * fail, such as one whose `tools` fit no tool: the others can be run.
 */
export const environmentEntrySchema = z.discriminatedUnion('state', [
  z.object({ ...environmentFields, state: z.literal('ready'), warnings: z.array(z.string()) }),
  z.object({ ...environmentFields, state: z.literal('failed'), reason: z.string() }),
]);
export type EnvironmentEntry = z.infer<typeof environmentEntrySchema>;

export const environmentListSchema = z.object({ object: z.literal('list'), data: z.array(environmentEntrySchema) });

export type EnvironmentList = z.infer<typeof environmentListSchema>;

/** Hints of MCP about a tool, in its spelling: what an environment says, not what anybody has checked. */
export const toolHintsSchema = z.object({
  readOnlyHint: z.boolean().optional(),
  destructiveHint: z.boolean().optional(),
  idempotentHint: z.boolean().optional(),
  openWorldHint: z.boolean().optional(),
});
export type ToolHints = z.infer<typeof toolHintsSchema>;

/** A tool as an environment lists it to an agent. A scenario may offer fewer of them. */
const environmentToolSchema = agentToolSchema.extend({
  title: z.string().nullable(),
  output_schema: jsonSchemaSchema.nullable(),
  annotations: toolHintsSchema,
});
export type EnvironmentTool = z.infer<typeof environmentToolSchema>;

/** Answer of `GET /v1/environments/{name}/tools` (our choice). */
export const environmentToolListSchema = z.object({ tools: z.array(environmentToolSchema) });
export type EnvironmentToolList = z.infer<typeof environmentToolListSchema>;

export const modelListSchema = z.object({
  object: z.literal('list'),
  data: z.array(z.object({ id: z.string(), object: z.literal('model'), created: z.int(), owned_by: z.string() })),
});
export type ModelList = z.infer<typeof modelListSchema>;

/** Output of `proctor keys create --json`: the only time that the key itself is shown. */
const createdApiKeySchema = z.object({
  id: z.string(),
  name: z.string(),
  account: z.string(),
  key: z.string(),
});
export type CreatedApiKey = z.infer<typeof createdApiKeySchema>;
