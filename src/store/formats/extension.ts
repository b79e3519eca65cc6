import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../../contract/json.ts';
import type { PromptMessage } from '../../contract/scenario.ts';
import { gradeSchema, parentSchema, replayResultSchema } from '../../contract/service/replay.ts';
import { type Step, type ToolResultRecord, type Trace, traceSchema } from '../../contract/service/trace.ts';
import { sumUsage } from '../../contract/service/usage.ts';
import { withAddresses, withBytes } from './addresses.ts';
import type { WriteContext } from './format.ts';
import type { ImportedTrace, ReadContext } from './imported-trace.ts';
import type { Losses } from './losses.ts';

/** Key under which formats with an extension field keep everything that they have no field for. */
export const EXTENSION = 'proctor';

const kept = traceSchema.pick({
  status: true,
  stop_reason: true,
  task_id: true,
  attempt_index: true,
  env_name: true,
  scenario_name: true,
  scenario_args: true,
  model: true,
  max_steps: true,
  seed: true,
  sampling: true,
  metadata: true,
  versions: true,
  created_at: true,
  started_at: true,
  finished_at: true,
  answer: true,
  reward: true,
  evaluation: true,
  timing: true,
  error: true,
  agent: true,
  judgements: true,
});

/** Fields of a trace that a conversation cannot hold. */
export const traceExtensionSchema = kept.extend({
  version: z.literal(1),
  /** Id of the original trace. An imported trace gets a new id. */
  trace_id: z.string(),
  origin: z.string(),
  outcome: z.string().nullable(),
  /** Null when the scenario has no system prompt but the format needs one. */
  system: z.string().nullable(),
  turns: z.array(traceSchema.shape.turns.element.omit({ messages: true, steps: true })),
  /** The prompt, when the first turn does not begin with it. */
  prompt: traceSchema.shape.prompt.optional(),
  tool_calls: z.int(),
  /** Calls outside of steps, when the format cannot hold them. */
  outside: traceSchema.shape.tool_calls,
  ledger: traceSchema.shape.ledger,
  sandboxes: traceSchema.shape.sandboxes,
  model_target: z.string().optional(),
  /** Absent when the trace repeats no other trace. */
  parent: parentSchema.optional(),
  replay: replayResultSchema.optional(),
  grades: z.array(gradeSchema).optional(),
  /** Usage of the models that the harness called. */
  harness: traceSchema.shape.usage.pick({ user: true, judge: true, sample: true }).optional(),
  /** Steps of side conversations, when the format cannot hold them. */
  beside: traceSchema.shape.steps.optional(),
});
export type TraceExtension = z.infer<typeof traceExtensionSchema>;

const step = traceSchema.shape.steps.element;

/** Fields of a step that a message cannot hold. */
export const stepExtensionSchema = step.omit({ message: true, tool_results: true }).extend({
  content: z.string().nullable(),
  reasoning: z.string().nullable(),
  refusal: step.shape.message.shape.refusal,
  extra: step.shape.message.shape.extra,
  /** Text that was sent in place of arguments, by call, when the format cannot hold it in the call. */
  raw_arguments: z.array(z.string().nullable()).optional(),
});
export type StepExtension = z.infer<typeof stepExtensionSchema>;

const result = step.shape.tool_results.element;

/** Fields of a result that a message cannot hold. */
export const resultExtensionSchema = result.partial();
export type ResultExtension = z.infer<typeof resultExtensionSchema>;

/** The turn of a message, and its content when the format has changed it. */
export const messageExtensionSchema = z.object({
  turn: z.int(),
  message: traceSchema.shape.prompt.element.optional(),
});

export function toTraceExtension(trace: Trace, context: WriteContext): JsonObject {
  const { losses } = context;
  losses.add('attempts', 'a file tells of the last attempt', trace.attempts.length - 1);
  losses.add('logs', 'the format has no log', trace.logs.length);
  const fields = Object.fromEntries(Object.keys(kept.shape).map((name) => [name, trace[name as keyof Trace]]));
  const isPromptTold = isDeepStrictEqual(trace.prompt, trace.turns[0]?.messages ?? []);
  return withoutUndefined({
    version: 1,
    trace_id: trace.trace_id,
    origin: trace.origin,
    outcome: trace.outcome,
    ...fields,
    evaluation: withAddresses(trace.evaluation, 'evaluation', context),
    system: trace.system,
    turns: trace.turns.map(({ messages: _messages, steps: _steps, ...turn }) => turn),
    ...(isPromptTold ? {} : { prompt: withAddresses(trace.prompt, 'prompt', context) }),
    tool_calls: trace.usage.tool_calls,
    ledger: trace.ledger,
    sandboxes: trace.sandboxes,
    ...toRepetition(trace, context),
    harness: toHarness(trace.usage),
  });
}

/** Fields that are empty in most traces are left out. */
function toRepetition({ model, model_target: target, parent, replay, grades }: Trace, context: WriteContext) {
  return {
    model_target: target === model ? undefined : target,
    parent: parent ?? undefined,
    replay: replay === null ? undefined : withAddresses(replay, 'replay', context),
    grades: grades.length === 0 ? undefined : withAddresses(grades, 'grades', context),
  };
}

function toHarness({ user, judge, sample }: Trace['usage']): JsonObject | undefined {
  const used = withoutUndefined({ user, judge, sample });
  return Object.keys(used).length === 0 ? undefined : used;
}

export function toStepExtension({ message, tool_results: _results, ...fields }: Step): JsonObject {
  const { content, reasoning, refusal, extra } = message;
  return withoutUndefined({ ...fields, content, reasoning, refusal, extra });
}

/** @param known fields that the format itself preserves. */
export function toResultExtension(
  record: ToolResultRecord,
  known: Partial<ToolResultRecord>,
  context: WriteContext,
): JsonObject {
  const fields = Object.entries(record).filter(
    ([name, value]) => !isDeepStrictEqual(value, known[name as keyof ToolResultRecord]),
  );
  return withAddresses(Object.fromEntries(fields) as JsonObject, 'steps[].tool_results[].content', context);
}

/**
 * The extension under the key `proctor`, when it has the form that this version writes. Otherwise undefined, and a loss
 * is noted.
 */
export function readExtension<Schema extends z.ZodType>(
  schema: Schema,
  extra: unknown,
  field: string,
  { losses }: ReadContext,
): z.output<Schema> | undefined {
  const given = isJsonObject(extra) ? extra[EXTENSION] : undefined;
  if (given === undefined || given === null) return undefined;
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  losses.add(`${field}.${EXTENSION}`, 'it is not as this version of Proctor writes it, and was read as of others');
  return undefined;
}

/** Restores a trace that Proctor exported, with every field. */
export function fromExtension(
  extension: TraceExtension,
  told: Pick<Trace, 'tools' | 'steps' | 'tool_calls'> & {
    readonly messages: readonly { readonly turn: number; readonly message: PromptMessage }[];
  },
  context: ReadContext,
): ImportedTrace {
  const { options, bytesAt } = context;
  const { version: _v, trace_id: _id, origin: _origin, turns, prompt, outcome, ...fields } = extension;
  const {
    tool_calls: calls,
    outside,
    ledger,
    sandboxes,
    beside,
    parent,
    grades,
    replay,
    harness,
    model_target: target,
    ...rest
  } = fields;
  loseRelations({ parent, grades }, context.losses);
  const steps = [...told.steps, ...withBytes(beside ?? [], bytesAt)].sort((one, other) => one.step - other.step);
  // Repeated steps cost nothing.
  const own = steps.filter(({ repeated }) => repeated !== true);
  const first = messagesOf(told.messages, turns[0]?.turn ?? 1);
  const toolCalls = outside === undefined ? told.tool_calls : withBytes(outside, bytesAt);
  return {
    ...rest,
    env_name: options.envName ?? rest.env_name,
    scenario_name: options.scenarioName ?? rest.scenario_name,
    evaluation: withBytes(rest.evaluation, bytesAt),
    ...(target === undefined ? {} : { model_target: target }),
    ...(replay === undefined ? {} : { replay: withBytes(replay, bytesAt) }),
    prompt: prompt === undefined ? first : withBytes(prompt, bytesAt),
    tools: told.tools,
    turns: turns.map((turn) => ({
      ...turn,
      messages: messagesOf(told.messages, turn.turn),
      steps: steps.filter((each) => each.turn === turn.turn).map((each) => each.step),
    })),
    steps,
    ...(toolCalls === undefined ? {} : { tool_calls: toolCalls }),
    ...(ledger === undefined ? {} : { ledger }),
    ...(sandboxes === undefined ? {} : { sandboxes }),
    usage: {
      model_calls: own.length,
      tool_calls: calls,
      ...sumUsage(own.map(({ usage }) => usage)),
      ...harness,
    },
    answer_fits: !(outcome === 'agent_error' && rest.error?.boundary !== 'agent'),
  };
}

/** Notes as losses the relations of a trace to other traces of its original store. */
export function loseRelations(
  { parent, grades }: { readonly parent?: Trace['parent'] | undefined; readonly grades?: Trace['grades'] | undefined },
  losses: Losses,
): void {
  losses.add('parent', 'the trace that it repeats has another id here, or is not here', parent ? 1 : 0);
  losses.add('grades', 'later grades stay where they were given', grades?.length ?? 0);
}

function messagesOf(messages: readonly { readonly turn: number; readonly message: PromptMessage }[], turn: number) {
  return messages.filter((each) => each.turn === turn).map(({ message }) => message);
}

export function withoutUndefined(fields: Readonly<Record<string, unknown>>): JsonObject {
  const kept: Record<string, unknown> = {};
  for (const name in fields) if (fields[name] !== undefined) kept[name] = fields[name];
  return kept as JsonObject; // The condition above makes it an object.
}
