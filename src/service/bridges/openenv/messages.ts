import { z } from 'zod';
import { jsonObjectSchema } from '../../../contract/json.ts';
import { LONGEST_TIMER_MS } from '../../../support/runtime/deadline.ts';
import { type FieldError, invalid } from './openenv-error.ts';

/** Names that the protocol reserves. No tool may have one. */
export const RESERVED_TOOL_NAMES: readonly string[] = ['reset', 'step', 'state', 'close'];

/** Seconds that a call may take. Without it the environment's own limit applies. */
const timeoutSchema = z
  .number()
  .positive()
  .max(LONGEST_TIMER_MS / 1_000);

/** An action of `step`. */
export const actionSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('list_tools'), metadata: jsonObjectSchema.optional() }),
  z.strictObject({
    type: z.literal('call_tool'),
    tool_name: z.string(),
    arguments: jsonObjectSchema.default({}),
    timeout_s: timeoutSchema.nullish(),
    metadata: jsonObjectSchema.optional(),
  }),
]);

/** The data of `reset`. Other fields are arguments of the scenario. */
export const resetSchema = z.looseObject({
  seed: z.int().min(0).nullish(),
  episode_id: z.string().max(255).nullish(),
  task_id: z.string().max(200).nullish(),
});

export const stepRequestSchema = z.looseObject({
  action: jsonObjectSchema,
  timeout_s: timeoutSchema.nullish(),
  request_id: z.string().max(255).nullish(),
});

const toolSchema = z.object({ name: z.string(), description: z.string(), input_schema: jsonObjectSchema });

/** The observations of `reset`, `list_tools` and `call_tool`, in this order. */
export const observationSchema = z.union([
  z.object({
    prompt: z.array(z.object({ role: z.string(), content: z.json() })),
    system: z.string().nullable(),
    text: z.string(),
  }),
  z.object({ tools: z.array(toolSchema) }),
  z.object({
    tool_name: z.string(),
    result: z.json(),
    error: z
      .object({
        error_type: z.enum(['execution_error', 'invalid_args', 'transport_error', 'tool_not_found', 'timeout']),
        message: z.string(),
      })
      .nullable(),
  }),
]);

/** Answer of `reset` and `step`. */
export const stepResultSchema = z.object({
  observation: observationSchema,
  reward: z.number().nullable(),
  done: z.boolean(),
});

/** Type of `stepResultSchema`. */
export interface StepResult {
  readonly observation: Readonly<Record<string, unknown>>;
  readonly reward: number | null;
  readonly done: boolean;
}

export const stateSchema = z.looseObject({
  episode_id: z.string().nullable(),
  step_count: z.int().min(0),
  /** Null before the first `reset`. */
  trace_id: z.string().nullable(),
  scenario: z.string().nullable(),
  done: z.boolean(),
});
export type EpisodeState = z.output<typeof stateSchema>;

/** Schemas of the messages on the socket `/ws`. */
export const messageSchemas = {
  reset: z.strictObject({ type: z.literal('reset'), data: jsonObjectSchema.default({}) }),
  step: z.strictObject({ type: z.literal('step'), data: jsonObjectSchema }),
  state: z.strictObject({ type: z.literal('state') }),
  close: z.strictObject({ type: z.literal('close') }),
  mcp: z.strictObject({ type: z.literal('mcp'), data: jsonObjectSchema }),
} as const;

export const rpcRequestSchema = z.strictObject({
  jsonrpc: z.literal('2.0'),
  method: z.string(),
  params: jsonObjectSchema.default({}),
  id: z.union([z.string(), z.int()]).nullish(),
});

/** @throws OpenEnvError VALIDATION_ERROR that lists the faults. */
export function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalid('Invalid message', toFieldErrors(parsed.error));
}

function toFieldErrors(error: z.ZodError): readonly FieldError[] {
  return error.issues.map(({ code, path, message }) => ({
    type: code,
    loc: path.map((part) => (typeof part === 'symbol' ? String(part) : part)),
    msg: message,
  }));
}
