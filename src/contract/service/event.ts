import { z } from 'zod';
import {
  agentToolSchema,
  assistantMessageSchema,
  contentBlockSchema,
  finishReasonSchema,
  harnessUsageSchema,
  usageSchema,
} from '../chat.ts';
import { runErrorSchema } from '../error-shapes.ts';
import { jsonObjectSchema } from '../json.ts';
import {
  evaluationSchema,
  promptMessageSchema,
  sandboxEndSchema,
  sandboxFactsSchema,
  sandboxRefusalSchema,
  volatilePartSchema,
} from '../scenario.ts';
import { parentSchema, replayResultSchema } from './replay.ts';
import {
  attemptEndSchema,
  judgementRecordSchema,
  ledgerEntrySchema,
  logSchema,
  originSchema,
  stepInputSchema,
  stopReasonSchema,
  timeSchema,
  turnStatusSchema,
  userReplyRecordSchema,
  versionsSchema,
} from './trace.ts';

const type = <const Name extends string>(name: Name) => z.literal(name);

/**
 * The events of a trace, in order (contract section 4). The store adds `seq` (from 1, without gaps), `at` and
 * `attempt`. Durations are integer milliseconds.
 */
export const eventBodySchema = z.discriminatedUnion('type', [
  /** The run was accepted. The event comes again with each new attempt, after the last one was lost or given back. */
  z.object({
    type: type('run.queued'),
    origin: originSchema,
    env_name: z.string(),
    scenario_name: z.string(),
    scenario_args: jsonObjectSchema,
    model: z.string(),
    /**
     * The provider's name behind a registered model, at the time of the request. Absent when `model` is the provider's
     * name.
     */
    model_target: z.string().optional(),
    /** The key of `gateways` that serves the target. Absent or null: a gateway is selected by pattern of the target. */
    model_gateway: z.string().nullable().optional(),
    max_steps: z.int(),
    timeout_seconds: z.int(),
    seed: z.int().nullable(),
    sampling: jsonObjectSchema,
    metadata: z.record(z.string(), z.string()),
    priority: z.int(),
    /** The agent that plays, a command. Without one the model plays directly. */
    agent: z.string().nullable().optional(),
    /** Models of the harness. They override those of the scenario and of the configuration. */
    user_model: z.string().nullable().optional(),
    judge_model: z.string().nullable().optional(),
    /** Lines of the task for `proctor/user-script`. They override the scenario argument of this name. */
    user_script: z.array(z.string()).optional(),
    /**
     * The attempt of the evaluation. `rerun` counts from 0; at `rerun_limit` the attempt is not run again
     * automatically.
     */
    evaluation: z
      .object({
        evaluation_id: z.string(),
        task_id: z.string(),
        attempt_index: z.int(),
        rerun: z.int(),
        rerun_limit: z.int().optional(),
      })
      .nullable()
      .optional(),
    /** Task and attempt in the original evaluation of an imported trace, as its file says. */
    imported: z.object({ task_id: z.string().nullable(), attempt_index: z.int().nullable() }).optional(),
    /** The trace that this run repeats, in whole or in part. */
    parent: parentSchema.nullable().optional(),
    /** The end of the previous attempt; null for the first attempt. */
    previous_end: attemptEndSchema.nullable(),
    /** The reason why the previous attempt was lost, where it is known. */
    previous_error: runErrorSchema.nullable().optional(),
  }),
  z.object({ type: type('run.started'), worker: z.string(), versions: versionsSchema }),
  /** The process of the environment is up and its handshake is done. */
  z.object({
    type: type('environment.ready'),
    name: z.string(),
    versions: versionsSchema,
    /** Milliseconds that the run waited for a free process before the environment started. */
    waited_ms: z.int().optional(),
    duration_ms: z.int(),
  }),
  /** A sandbox of the session has started. The event comes before the setup. */
  sandboxFactsSchema.extend({ type: type('sandbox.started') }),
  /** The proxy of a sandbox has refused a destination that its allow list does not have. */
  sandboxRefusalSchema.extend({ type: type('sandbox.refused') }),
  /** The agent has ended: what it changed in a sandbox. The event comes before `evaluation.completed`. */
  sandboxEndSchema.extend({ type: type('sandbox.ended') }),
  z.object({
    type: type('setup.completed'),
    system: z.string().nullable(),
    prompt: z.array(promptMessageSchema),
    tools: z.array(agentToolSchema),
    answer_schema: z.record(z.string(), z.unknown()).nullable(),
    /** Parts that may differ from one session to the next. Absent when the scenario declares none. */
    volatile: z.array(volatilePartSchema).optional(),
    duration_ms: z.int(),
  }),
  z.object({ type: type('turn.started'), turn: z.int(), messages: z.array(promptMessageSchema) }),
  z.object({
    type: type('model.requested'),
    turn: z.int(),
    step: z.int(),
    /** The fields below are only on the calls of an agent at a seat. */
    branch: z.string().nullable().optional(),
    compacted: z.boolean().optional(),
    input: stepInputSchema.optional(),
  }),
  z.object({
    type: type('model.responded'),
    turn: z.int(),
    step: z.int(),
    message: assistantMessageSchema,
    finish_reason: finishReasonSchema,
    usage: usageSchema,
    token_ids: z.json(),
    logprobs: z.json(),
    retries: z.int(),
    duration_ms: z.int(),
    /** True when the response was copied from the repeated trace and no model was asked. */
    repeated: z.boolean().optional(),
  }),
  /**
   * A model call of an agent at a seat that its gateway did not answer. It is not a step. The agent decides whether to
   * try again.
   */
  z.object({
    type: type('model.failed'),
    turn: z.int(),
    /** The number that the step would have had. The next step may get it. */
    step: z.int(),
    branch: z.string().nullable(),
    code: z.string(),
    message: z.string(),
    /** HTTP status of the reply to the agent. */
    status: z.int(),
    duration_ms: z.int(),
  }),
  z.object({
    type: type('tool.called'),
    turn: z.int(),
    step: z.int(),
    tool_call_id: z.string(),
    name: z.string(),
    arguments: jsonObjectSchema,
    raw_arguments: z.string().nullable(),
  }),
  z.object({
    type: type('tool.responded'),
    turn: z.int(),
    step: z.int(),
    tool_call_id: z.string(),
    name: z.string(),
    content: z.array(contentBlockSchema),
    structured_content: z.json(),
    is_error: z.boolean(),
    duration_ms: z.int(),
  }),
  /** The model calls and the tool calls of an agent at a seat differ. */
  ledgerEntrySchema.extend({ type: type('ledger.noted') }),
  z.object({ type: type('turn.finished'), turn: z.int(), status: turnStatusSchema, tool_ms: z.int() }),
  /** A simulated user answered the text that ended this turn, or began the conversation (turn 0). */
  userReplyRecordSchema.extend({ type: type('user.responded'), turn: z.int() }),
  /** A judge has read material for the evaluation. */
  judgementRecordSchema.extend({ type: type('judge.responded') }),
  /** A judge gave no verdict. The usage covers the answers that had arrived. */
  judgementRecordSchema
    .pick({ model: true, key: true, rubric: true, material: true, usage: true, duration_ms: true })
    .extend({ type: type('judge.failed'), message: z.string() }),
  /** The environment's code called a model. */
  z.object({ type: type('sample.responded'), model: z.string(), usage: harnessUsageSchema, duration_ms: z.int() }),
  /** `fits` is false when the answer does not match the scenario's answer schema, after the model was asked twice. */
  z.object({ type: type('answer.submitted'), answer: z.json(), fits: z.boolean().optional() }),
  z.object({ type: type('evaluation.completed'), evaluation: evaluationSchema, duration_ms: z.int() }),
  logSchema.omit({ at: true }).extend({ type: type('log') }),
  z.object({
    type: type('run.finished'),
    status: z.enum(['completed', 'failed', 'cancelled']),
    stop_reason: stopReasonSchema,
    reward: z.number().nullable(),
    error: runErrorSchema.nullable(),
    /** The result of a replay. */
    replay: replayResultSchema.optional(),
  }),
]);
export type EventBody = z.infer<typeof eventBodySchema>;
export type EventType = EventBody['type'];
export type EventOf<Type extends EventType> = Extract<EventBody, { type: Type }>;

const eventStampSchema = z.object({ seq: z.int(), at: timeSchema, attempt: z.int() });
/** An event as it is stored and streamed. */
export type TraceEvent = EventBody & z.infer<typeof eventStampSchema>;

/** Text of a model as it streams. It is only on the event stream of a trace, is not stored, and has no number. */
export interface ModelDeltaEvent {
  readonly type: 'model.delta';
  readonly attempt: number;
  readonly content?: string;
  readonly reasoning?: string;
  readonly refusal?: string;
}
