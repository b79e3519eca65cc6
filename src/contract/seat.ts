import { z } from 'zod';
import { jsonObjectSchema } from './json.ts';
import { modelNameSchema, runRequestSchema, runStatusSchema } from './run.ts';
import { promptMessageSchema } from './scenario.ts';
import { timeSchema } from './trace.ts';

/** The model of a trace whose agent brings its own. */
export const EXTERNAL_MODEL = 'external';
/** The tool by which an agent at a seat ends its run. */
export const SUBMIT_ANSWER = 'submit_answer';
/** The tool by which an agent that brings its own loop talks with the simulated user of its scenario. */
export const MESSAGE_USER = 'message_user';
/** Where the MCP endpoint of all seats is: the secret says which one is meant. */
export const SEAT_MCP_PATH = '/mcp';

/**
 * How an agent gives its answer: by `submit_answer`; by its last text, when its process has ended or somebody ends the seat
 * without an answer; or by either.
 */
export const answerWaySchema = z.enum(['tool', 'final_message', 'either']);
export type AnswerWay = z.infer<typeof answerWaySchema>;

/** Body of `POST /v1/agent/seats`: a run request, with `model` null for an agent that brings its own (contract section 8). */
export const seatRequestSchema = runRequestSchema.omit({ agent: true }).extend({
  model: modelNameSchema.nullable().default(null),
  answer: answerWaySchema.nullable().default(null),
});
export type SeatRequest = z.infer<typeof seatRequestSchema>;
/** As a client sends it: what has a default may be left out. */
export type SeatInput = z.input<typeof seatRequestSchema>;

/** Configurations of agents. Each holds the secret. */
const seatConfigsSchema = z.object({
  /** For `claude --mcp-config <file>`. */
  claude: jsonObjectSchema,
  /** TOML for `config.toml` of Codex. */
  codex: z.string(),
  /** For `settings.json` of Gemini CLI. */
  gemini: jsonObjectSchema,
  /** For `opencode.json`. */
  opencode: jsonObjectSchema,
  /** For `.vscode/mcp.json`. */
  vscode: jsonObjectSchema,
});
export type SeatConfigs = z.infer<typeof seatConfigsSchema>;

const seatModelSchema = z.object({
  /** The same secret as that of the MCP address. */
  api_key: z.string(),
  /** Chat completions and Responses; with `/v1`. */
  openai_base_url: z.string(),
  /** Messages; without `/v1`. */
  anthropic_base_url: z.string(),
  /** `generateContent`; without a version. */
  gemini_base_url: z.string(),
});
export type SeatModelAddresses = z.infer<typeof seatModelSchema>;

/** Answer of `POST /v1/agent/seats`: setup has run, and the agent may begin. */
export const seatSchema = z.object({
  trace_id: z.string(),
  trace_url: z.string(),
  status: runStatusSchema,
  expires_at: timeSchema,
  prompt: z.array(promptMessageSchema),
  system: z.string().nullable(),
  mcp: z.object({ url: z.string(), headers: z.record(z.string(), z.string()) }),
  /** Addresses for its model calls; null for an agent that brings its own model. */
  model: seatModelSchema.nullable(),
  /** Variables for the process of the agent. */
  env: z.record(z.string(), z.string()),
  configs: seatConfigsSchema,
});
export type Seat = z.infer<typeof seatSchema>;

/** Body of `POST /v1/agent/seats/{trace_id}/answer`. */
export const seatAnswerSchema = z.object({ answer: z.json().optional() });
