import { z } from 'zod';
import { givenJsonSchema, jsonObjectSchema, scenarioArgsSchema } from './json.ts';
import { MAX_STEPS } from './names.ts';
import { modelNameSchema } from './service/run.ts';
import { svcSchema } from './session.ts';

const sessionIdArgs = {
  session_id: z.string().min(1).optional().describe('Of scenario_start. Also taken: thread_id, conversation_id.'),
  thread_id: z.string().min(1).optional(),
  conversation_id: z.string().min(1).optional(),
};

/** The tools that start and drive a session, for any client that can call tools (contract section 2). */
export const LIFECYCLE_TOOLS = {
  scenario_list: {
    description: 'Lists the scenarios that can be started, with their arguments.',
    args: z.strictObject({}),
  },
  scenario_start: {
    description: 'Starts a session with a scenario, runs its first turn, and gives the answer and the session id.',
    args: z.strictObject({
      scenario: z.string().min(1).describe('Its short name, or its full one.'),
      scenario_args: scenarioArgsSchema.describe('The arguments of the scenario, by name.'),
      message: z
        .string()
        .min(1)
        .optional()
        .describe("Sent after the scenario's prompt. Without it the prompt stands alone."),
      model: modelNameSchema.optional().describe("Which model plays. Default: the server's."),
      max_steps: z.int().min(1).max(MAX_STEPS.maximum).optional().describe('Model responses that a turn may take.'),
    }),
  },
  scenario_send: {
    description: 'Sends a message to a session, runs a turn, and gives the answer.',
    args: z.strictObject({ ...sessionIdArgs, message: z.string().min(1) }),
  },
  scenario_finish: {
    description: 'Submits the answer of a session, evaluates it, and gives the reward.',
    args: z.strictObject({
      ...sessionIdArgs,
      answer: givenJsonSchema.optional().describe('Default: the last text of the assistant.'),
    }),
  },
} as const;
export type LifecycleToolName = keyof typeof LIFECYCLE_TOOLS;

const toolEntrySchema = z.object({
  name: z.string(),
  description: z.string(),
  inputSchema: z.record(z.string(), z.unknown()),
  input_schema: z.record(z.string(), z.unknown()),
});
export const lifecycleToolListSchema = z.object({ tools: z.array(toolEntrySchema) });
export type LifecycleToolEntry = z.infer<typeof toolEntrySchema>;

/** Body of `POST /v1/lifecycle-tools/call` and `POST /mcp/tools/call`. */
export const lifecycleCallSchema = z.looseObject({ name: z.string().min(1), arguments: jsonObjectSchema.default({}) });

/** The answer of `scenario_start` and `scenario_send`. */
export const turnAnswerSchema = z.object({
  answer: z.string(),
  tool_calls: z.array(z.object({ id: z.string(), name: z.string(), arguments: jsonObjectSchema })),
  svc: svcSchema,
});
export type TurnAnswer = z.infer<typeof turnAnswerSchema>;

/** An MCP tool result. */
export const lifecycleResultSchema = z.object({
  content: z.array(z.object({ type: z.literal('text'), text: z.string() })),
  structuredContent: jsonObjectSchema,
  isError: z.boolean(),
});
export type LifecycleResult = z.infer<typeof lifecycleResultSchema>;
