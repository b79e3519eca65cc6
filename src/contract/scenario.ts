import { z } from 'zod';
import { jsonObjectSchema, jsonSchemaSchema } from './json.ts';

const textPartSchema = z.object({ type: z.literal('text'), text: z.string() });
/** `data` is base64. `mimeType` is spelled as in MCP. */
const imagePartSchema = z.object({ type: z.literal('image'), data: z.string(), mimeType: z.string() });
export const contentPartSchema = z.discriminatedUnion('type', [textPartSchema, imagePartSchema]);
export type ContentPart = z.infer<typeof contentPartSchema>;

export const promptMessageSchema = z.object({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string(), z.array(contentPartSchema)]),
});
export type PromptMessage = z.infer<typeof promptMessageSchema>;

/**
 * Parts of a session that may differ from one session to the next without an error. A part is a pattern of tool names
 * (`*` matches any characters), `prompt`, `tools`, or one field of a tool's structured content. The members of a
 * field's path are separated by dots, and `*` means every member. Two results of a volatile tool are compared by
 * `is_error` alone.
 */
export const volatilePartSchema = z.union([
  z.string().min(1),
  z.strictObject({ tool: z.string().min(1), path: z.string().min(1) }),
]);
export type VolatilePart = z.infer<typeof volatilePartSchema>;
/** The simulated user of a session, as setup describes it to the harness. An MCP prompt never holds it. */
export const userOfSetupSchema = z.object({
  /** Null for a user that is a function. */
  instructions: z.string().nullable(),
  /** Null means the harness's own model for users. */
  model: z.string().nullable(),
  /** Functions that the user may call, through the dispatcher of their hub. */
  tools: z.array(
    z.object({ hub: z.string(), name: z.string(), description: z.string(), input_schema: jsonSchemaSchema }),
  ),
  max_turns: z.int().min(1),
  /** True when the function `next` of the hub `user` writes the user's messages. */
  function: z.boolean(),
});
export type UserOfSetup = z.infer<typeof userOfSetupSchema>;

/** A message of the conversation between an agent (`assistant`) and its user. */
export const userMessageSchema = z.object({ role: z.enum(['user', 'assistant']), content: z.string() });
/** `structuredContent` of the function `next` of the hub `user`; null ends the conversation. */
export const userReplySchema = z.object({ message: z.string().nullable() });

/** `structuredContent` of a function of the hub `setup` that belongs to a scenario. */
export const setupResultSchema = z.object({
  scenario: z.string(),
  prompt: z.array(promptMessageSchema),
  system: z.string().nullable(),
  tools: z.array(z.string()).nullable(),
  answer_schema: jsonSchemaSchema.nullable(),
  /** Kinds of provider tools that an agent at a seat may use. Absent means none. */
  provider_tools: z.array(z.string()).optional(),
  /** Absent when the scenario declares no volatile parts. */
  volatile: z.array(volatilePartSchema).optional(),
  /** Absent when the scenario has no simulated user. */
  user: userOfSetupSchema.optional(),
});
export type SetupResult = z.infer<typeof setupResultSchema>;

const subscoreSchema = z.object({
  name: z.string(),
  value: z.number(),
  weight: z.number().optional(),
});
export type Subscore = z.infer<typeof subscoreSchema>;

/** `structuredContent` of a function of the hub `evaluate` that belongs to a scenario. */
export const evaluationSchema = z.object({
  reward: z.number(),
  done: z.boolean(),
  content: z.string().nullable(),
  info: jsonObjectSchema,
  subscores: z.array(subscoreSchema),
  is_error: z.boolean(),
});
export type Evaluation = z.infer<typeof evaluationSchema>;

/**
 * `structuredContent` of a function of the hub `solution`. A generator returns its calls one by one: `done` is false
 * until its last answer, and the next request carries the results so far in `_meta`.
 */
export const solutionSchema = z.object({
  calls: z.array(z.object({ name: z.string(), arguments: jsonObjectSchema })),
  answer: z.json(),
  done: z.boolean(),
});
export type Solution = z.infer<typeof solutionSchema>;

const scenarioArgumentSchema = z.object({
  name: z.string(),
  type: z.string(),
  required: z.boolean(),
  description: z.string().nullable(),
  default: z.json(),
});

/** An entry of `svc://scenarios` and of `GET /scenarios`. It holds nothing secret. */
const scenarioEntrySchema = z.object({
  name: z.string(),
  short_name: z.string(),
  description: z.string(),
  required_args: z.array(z.string()),
  arguments: z.array(scenarioArgumentSchema),
  args_schema: jsonSchemaSchema,
  /** Models that the harness has to provide: `user` plays the simulated user, `judge` judges. Absent means none. */
  needs: z.array(z.enum(['user', 'judge'])).optional(),
});
export type ScenarioEntry = z.infer<typeof scenarioEntrySchema>;

export const scenarioListSchema = z.object({ scenarios: z.array(scenarioEntrySchema) });
export type ScenarioList = z.infer<typeof scenarioListSchema>;

/** Facts about a sandbox that has started. */
export const sandboxFactsSchema = z.object({
  name: z.string(),
  /** `docker`, `podman`, `bubblewrap`, `kubernetes` or `none`. */
  engine: z.string(),
  engine_version: z.string(),
  image: z.string().nullable(),
  /** The identity of the image, `sha256:…`. */
  digest: z.string().nullable(),
  network: z.enum(['none', 'open', 'allow']),
  limits: z.object({
    memory_bytes: z.number().nullable(),
    cpus: z.number().nullable(),
    processes: z.number().nullable(),
    disk_bytes: z.number().nullable(),
  }),
  /** Reasons by the name of a limit that the engine does not enforce. */
  not_enforced: z.record(z.string(), z.string()),
  warnings: z.array(z.string()),
  /** Milliseconds that it waited for room, or for an engine that was away. */
  queued_ms: z.int(),
  /** Milliseconds to get its image. */
  image_ms: z.int(),
  /** Milliseconds to start it. */
  start_ms: z.int(),
});
export type SandboxFacts = z.infer<typeof sandboxFactsSchema>;

/** `structuredContent` of a call of `setup` that only makes the sandboxes. */
export const sandboxOpeningSchema = z.object({ sandboxes: z.array(sandboxFactsSchema) });

/** Facts about a sandbox after the agent has ended, before the evaluation. */
export const sandboxEndSchema = z.object({
  name: z.string(),
  /** Paths below its folder; null if they could not be read. */
  changes: z
    .object({ added: z.array(z.string()), changed: z.array(z.string()), removed: z.array(z.string()) })
    .nullable(),
  /** Number of paths that are not listed. */
  omitted: z.int(),
  /** Processes that the kernel ended because the memory was used up. */
  memory_kills: z.int(),
  /** The reason why something could not be read. */
  problem: z.string().nullable(),
});
export type SandboxEnd = z.infer<typeof sandboxEndSchema>;

/** A destination that a sandbox asked for and its allow list does not have. */
export const sandboxRefusalSchema = z.object({ sandbox: z.string(), host: z.string(), port: z.int() });
export type SandboxRefusal = z.infer<typeof sandboxRefusalSchema>;

/** How a sandbox was lost. `agent`: a command inside ended it. `engine`: anything else. */
export const sandboxFaultSchema = z.object({ by: z.enum(['agent', 'engine']), reason: z.string() });
export type SandboxFault = z.infer<typeof sandboxFaultSchema>;
