import { z } from 'zod';
import { jsonObjectSchema } from '../json.ts';
import { promptMessageSchema } from '../scenario.ts';
import { modelNameSchema, runRequestSchema, runStatusSchema } from './run.ts';
import { timeSchema } from './trace.ts';

/** `model` of a trace whose agent brings its own model. */
export const EXTERNAL_MODEL = 'external';
/** The tool that an agent at a seat calls to end its run. */
export const SUBMIT_ANSWER = 'submit_answer';
/** The tool that an agent with its own loop calls to talk with the simulated user. */
export const MESSAGE_USER = 'message_user';
/** Path of the MCP endpoint that all seats share. The secret in a request selects the seat. */
export const SEAT_MCP_PATH = '/mcp';

/**
 * How an agent gives its answer. `tool`: it calls `submit_answer`. `final_message`: its last text is the answer when
 * its process ends, or when the seat is ended without an answer. `either`: both ways work.
 */
export const answerWaySchema = z.enum(['tool', 'final_message', 'either']);
export type AnswerWay = z.infer<typeof answerWaySchema>;

/** Body of `POST /v1/agent/seats` (contract section 8). `model` is null for an agent that brings its own model. */
export const seatRequestSchema = runRequestSchema.omit({ agent: true }).extend({
  model: modelNameSchema.nullable().default(null),
  answer: answerWaySchema.nullable().default(null),
});
export type SeatRequest = z.infer<typeof seatRequestSchema>;
/** The body as a client sends it. Fields with a default may be left out. */
export type SeatInput = z.input<typeof seatRequestSchema>;

/** Configuration files for known agents. Each contains the secret. */
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
  /** The secret of the MCP address. */
  api_key: z.string(),
  /** Address for chat completions and Responses; ends in `/v1`. */
  openai_base_url: z.string(),
  /** Address for Messages; without `/v1`. */
  anthropic_base_url: z.string(),
  /** Address for `generateContent`; without a version. */
  gemini_base_url: z.string(),
});
export type SeatModelAddresses = z.infer<typeof seatModelSchema>;

/** Answer of `POST /v1/agent/seats`. Setup has run, and the agent may begin. */
export const seatSchema = z.object({
  trace_id: z.string(),
  trace_url: z.string(),
  status: runStatusSchema,
  expires_at: timeSchema,
  prompt: z.array(promptMessageSchema),
  system: z.string().nullable(),
  mcp: z.object({ url: z.string(), headers: z.record(z.string(), z.string()) }),
  /** Addresses for the agent's model calls; null for an agent that brings its own model. */
  model: seatModelSchema.nullable(),
  /** Environment variables for the process of the agent. */
  env: z.record(z.string(), z.string()),
  configs: seatConfigsSchema,
});
export type Seat = z.infer<typeof seatSchema>;

/** Body of `POST /v1/agent/seats/{trace_id}/answer`. */
export const seatAnswerSchema = z.object({ answer: z.json().optional() });
