import { z } from 'zod';
import { agentToolSchema } from '../chat.ts';
import { FORBIDDEN_NAME, givenObjectSchema, isJsonObject, jsonSchemaSchema, scenarioArgsSchema } from '../json.ts';
import { MAX_STEPS } from '../names.ts';
import { forkSchema } from './replay.ts';

/** Limits of a run's metadata. Our choice: enough for searching. */
export const METADATA_LIMITS = { keys: 64, keyCharacters: 64, valueCharacters: 512 } as const;

/** A name without zero characters, which cannot be stored, and short enough for a database index. Our choice. */
export const modelNameSchema = z
  .string()
  .regex(/^[^\0]*$/)
  .min(1)
  .max(512);

/** An object of strings. It is not a zod record, because that drops `__proto__` silently. */
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

/** Body of `POST /v1/agent/run` (specification, "Run request"). The optional fields come from the contract. */
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
  /** Models of the simulated user and of the judges. They override those of the scenario and of the configuration. */
  user_model: modelNameSchema.nullable().default(null),
  judge_model: modelNameSchema.nullable().default(null),
  sampling: givenObjectSchema.meta({ description: 'Sent to the gateway; at most 64 KiB as JSON' }).default({}),
  /** The agent that plays, a command on the worker. Null: the model plays directly. */
  agent: agentNameSchema.nullable().default(null),
});
export type RunRequest = z.infer<typeof runRequestSchema>;

const { env_name, scenario_name, model, max_steps } = runRequestSchema.shape;

/** The body as it arrives. A fork may leave out everything that the forked trace holds. */
export const runBodySchema = runRequestSchema
  .extend({
    env_name: env_name.optional(),
    scenario_name: scenario_name.optional(),
    scenario_args: scenarioArgsSchema.optional(),
    model: model.optional(),
    max_steps: max_steps.unwrap().optional(),
    seed: z.int().nullable().optional(),
    fork: forkSchema.optional(),
  })
  .superRefine((body, context) => {
    if (body.fork !== undefined) return;
    for (const name of ['env_name', 'scenario_name', 'model'] as const) {
      // An agent may bring its own model. Its definition says whether it does, so `model` is not required here.
      if (body[name] !== undefined || (name === 'model' && body.agent !== null)) continue;
      context.addIssue({ code: 'invalid_type', expected: 'string', input: undefined, path: [name] });
    }
  });
export type RunBody = z.infer<typeof runBodySchema>;
/** The body as a client sends it: fields with a default may be left out, and `model` when the agent brings its own. */
export type RunInput =
  | (Omit<z.input<typeof runRequestSchema>, 'model'> & { readonly model?: string | undefined })
  | (z.input<typeof runBodySchema> & { readonly fork: z.input<typeof forkSchema> });

export const runStatusSchema = z.enum(['queued', 'running', 'completed', 'failed', 'cancelled']);
export type RunStatus = z.infer<typeof runStatusSchema>;

/** Answer of `POST /v1/agent/run`. Only a request with `Prefer: wait` gets `reward` and `answer`. */
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
 * An environment that started, including its initialize hook, or the reason why it did not. Warnings name scenarios
 * whose runs will fail, such as one whose `tools` pattern matches no tool. The other scenarios work.
 */
export const environmentEntrySchema = z.discriminatedUnion('state', [
  z.object({ ...environmentFields, state: z.literal('ready'), warnings: z.array(z.string()) }),
  z.object({ ...environmentFields, state: z.literal('failed'), reason: z.string() }),
]);
export type EnvironmentEntry = z.infer<typeof environmentEntrySchema>;

export const environmentListSchema = z.object({ object: z.literal('list'), data: z.array(environmentEntrySchema) });

export type EnvironmentList = z.infer<typeof environmentListSchema>;

/** MCP's hints about a tool, in MCP's spelling. They are claims of the environment and are not verified. */
export const toolHintsSchema = z.object({
  readOnlyHint: z.boolean().optional(),
  destructiveHint: z.boolean().optional(),
  idempotentHint: z.boolean().optional(),
  openWorldHint: z.boolean().optional(),
});
export type ToolHints = z.infer<typeof toolHintsSchema>;

/** A tool that an environment offers to agents. A scenario may offer fewer. */
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

/** Output of `proctor keys create --json`. The key itself is shown only here. */
const createdApiKeySchema = z.object({
  id: z.string(),
  name: z.string(),
  account: z.string(),
  key: z.string(),
});
export type CreatedApiKey = z.infer<typeof createdApiKeySchema>;
