import { z } from 'zod';
import { readableText } from '../../../contract/content-text.ts';
import { isJsonObject, type JsonObject } from '../../../contract/json.ts';
import type { Step } from '../../../contract/service/trace.ts';
import { describeIssue } from '../describe-issue.ts';
import { nameOf, toFinishReason, toForeignTrace } from '../foreign.ts';
import { FormatError, type ImportedTrace, type ReadContext, toCount, toTime } from '../imported-trace.ts';
import { ReadConversation, type ReadStep } from '../read-conversation.ts';
import { toTools } from '../tool-definitions.ts';
import { loseOthers } from '../unknown-fields.ts';
import { messageSchema, toBlocks, toCalls } from './messages.ts';
import { addResult, toPromptMessage } from './read.ts';

const text = z.string().nullish();
const number = z.number().nullish();
const span = z.looseObject({ start: number, end: number }).nullish();

const nodeSchema = z.looseObject({
  parent: z.int().nullish(),
  message: messageSchema,
  sampled: z.boolean().nullish(),
  timestamp: number,
  token_ids: z.array(z.number()).nullish(),
  logprobs: z.array(z.number()).nullish(),
});
type Node = z.infer<typeof nodeSchema>;

const callSchema = z.looseObject({
  node: z.int().nullish(),
  model: text,
  finish_reason: text,
  usage: z
    .looseObject({
      prompt_tokens: number,
      completion_tokens: number,
      cached_input_tokens: number,
      reasoning_tokens: number,
      cost: number,
    })
    .nullish(),
  time: span,
});
type Call = z.infer<typeof callSchema>;

const traceSchema = z.looseObject({
  version: z.number(),
  id: text,
  task: z.looseObject({ type: text, data: z.unknown().optional(), key: text }).nullish(),
  agent: z.looseObject({ name: text }).nullish(),
  tools: z.unknown().optional(),
  nodes: z.array(nodeSchema),
  calls: z.array(callSchema).nullish(),
  rewards: z.record(z.string(), z.looseObject({ score: z.number(), weight: number }).nullable()).nullish(),
  metrics: z.record(z.string(), number).nullish(),
  stop_condition: text,
  errors: z.array(z.looseObject({ type: text, message: text, status_code: number })).nullish(),
  timing: z.looseObject({ start: number, scoring: span }).nullish(),
});
type VerifiersTrace = z.infer<typeof traceSchema>;

const episodeSchema = z.looseObject({
  env: z.looseObject({ id: text, name: text }).nullish(),
  task: z.looseObject({ type: text, key: text, data: z.unknown().optional() }).nullish(),
  traces: z.array(traceSchema),
});
type Episode = z.infer<typeof episodeSchema>;

export function isEpisode(given: unknown): boolean {
  return isJsonObject(given) && Array.isArray(given.traces) && ('env' in given || 'task' in given);
}

/** The traces of one episode, one for each of its agents. @throws FormatError for an invalid episode. */
export function* readEpisode(given: unknown, context: ReadContext): Generator<ImportedTrace> {
  const parsed = episodeSchema.safeParse(given);
  if (!parsed.success) throw new FormatError(describeIssue(parsed.error));
  const episode = parsed.data;
  for (const trace of episode.traces) {
    if (trace.version !== 1) throw new FormatError(`A trace is of version ${trace.version}; version 1 is read.`);
    yield readTrace(trace, episode, context);
  }
}

function readTrace(trace: VerifiersTrace, { env, task }: Episode, context: ReadContext): ImportedTrace {
  loseOthers(trace, TRACE_FIELDS, 'traces[]', context.losses);
  const conversation = toConversation(trace, context);
  const rewards = Object.entries(trace.rewards ?? {}).flatMap(([name, each]) =>
    each === null ? [] : [{ name, ...each }],
  );
  const reward = rewards.length === 0 ? null : rewards.reduce((sum, each) => sum + each.score * (each.weight ?? 1), 0);
  const metrics = Object.entries(trace.metrics ?? {}).flatMap(([name, value]) =>
    typeof value === 'number' ? [{ name, value }] : [],
  );
  const subscores = [
    ...rewards.map(({ name, score, weight }) => ({ name, value: score, weight: weight ?? 1 })),
    ...metrics,
  ];
  const [error] = trace.errors ?? [];
  const data = task?.data ?? trace.task?.data;
  return toForeignTrace(
    conversation,
    {
      format: 'verifiers',
      env: env?.id ?? env?.name ?? undefined,
      model: trace.calls?.find(({ model }) => model)?.model ?? undefined,
      id: trace.id ?? undefined,
      task_id: task?.key ?? trace.task?.key ?? null,
      scenario_args: isJsonObject(data) ? data : {},
      tools: toTools(trace.tools),
      started_at: timeAt(trace.timing?.start),
      finished_at: timeAt(trace.timing?.scoring?.end),
      status: error === undefined ? 'completed' : 'failed',
      stop_reason: error === undefined ? 'answered' : 'error',
      error:
        error === undefined
          ? null
          : {
              boundary: 'environment',
              code: (error.type ?? 'error').slice(0, 100),
              message: (error.message ?? '').slice(0, 10_000),
            },
      reward: error === undefined ? reward : null,
      evaluation: reward === null ? null : { reward, done: true, content: null, info: {}, subscores, is_error: false },
    },
    context,
  );
}

const TRACE_FIELDS = [
  ...['version', 'id', 'task', 'agent', 'tools', 'nodes', 'calls', 'rewards', 'metrics', 'is_completed', 'ok'],
  ...['stop_condition', 'errors', 'timing', 'verifiers'],
];

/**
 * Messages form a tree. The path to the last message is the main conversation; every other leaf ends a side
 * conversation.
 */
function toConversation({ nodes, calls }: VerifiersTrace, context: ReadContext): ReadConversation {
  for (const [index, { parent }] of nodes.entries()) {
    if (parent !== null && parent !== undefined && (parent < 0 || parent >= index)) {
      throw new FormatError(`nodes[${index}].parent is ${parent}; a message follows one that comes before it.`);
    }
  }
  const callOf = new Map(
    (calls ?? []).flatMap((call) => (typeof call.node === 'number' ? [[call.node, call] as const] : [])),
  );
  const main = new Set<number>();
  for (
    let at: number | null | undefined = nodes.length - 1;
    at !== null && at !== undefined && at >= 0;
    at = nodes[at]?.parent
  ) {
    main.add(at);
  }
  const conversation = new ReadConversation();
  for (const index of [...main].sort((one, other) => one - other)) {
    const node = nodes[index];
    if (node !== undefined) addNode(conversation, node, callOf.get(index), context);
  }
  const beside = [...nodes.entries()].filter(([index]) => !main.has(index));
  const told = new Set<Node>();
  for (const [index, node] of beside) {
    if (node.sampled !== true) continue;
    const call = callOf.get(index);
    const before = messagesBefore(nodes, node);
    for (const each of before) told.add(each);
    const branch = { name: `branch ${rootOf(nodes, index, main)}`, input: toInput(before, call, context) };
    conversation.addStep({ ...toReadStep(node, call, context), branch });
  }
  const unanswered = beside.filter(([, node]) => node.sampled !== true && !told.has(node)).length;
  context.losses.add('traces[].nodes[]', 'no response followed it, in a conversation beside the main one', unanswered);
  return conversation;
}

/** The first message of a side conversation. All messages of that conversation share it. */
function rootOf(nodes: readonly Node[], index: number, main: ReadonlySet<number>): number {
  let at = index;
  for (let parent = nodes[at]?.parent; typeof parent === 'number' && !main.has(parent); parent = nodes[at]?.parent)
    at = parent;
  return at;
}

/** Messages since the previous response. */
function messagesBefore(nodes: readonly Node[], node: Node): Node[] {
  const messages: Node[] = [];
  for (let parent = node.parent; typeof parent === 'number'; parent = nodes[parent]?.parent) {
    const before = nodes[parent];
    if (before === undefined || before.sampled === true) break;
    messages.unshift(before);
  }
  return messages;
}

function toInput(nodes: readonly Node[], call: Call | undefined, context: ReadContext): Step['input'] {
  if (nodes.length === 0) return undefined;
  const messages = nodes.map(({ message }): JsonObject => {
    const { role, tool_call_id: id } = message;
    return { role, content: readableText(toBlocks(message, context)), ...(id ? { tool_call_id: id } : {}) };
  });
  return { dialect: 'chat', model: nameOf(call?.model ?? 'unknown'), messages };
}

function addNode(conversation: ReadConversation, node: Node, call: Call | undefined, context: ReadContext): void {
  const { message } = node;
  const isFirst = conversation.system === null && conversation.turns.length === 0;
  if (message.role === 'assistant' && node.sampled !== false) {
    conversation.addStep(toReadStep(node, call, context));
  } else if (message.role === 'tool') {
    addResult(conversation, message, context);
  } else if (message.role === 'system' && isFirst) {
    conversation.system = readableText(toBlocks(message, context));
  } else {
    conversation.say(toPromptMessage(message, context), timeAt(node.timestamp) ?? null);
  }
}

/** The token count of a prompt does not include cached tokens, so they are added. */
function toReadStep(
  { message, timestamp, token_ids, logprobs }: Node,
  call: Call | undefined,
  context: ReadContext,
): ReadStep {
  const { usage, time } = call ?? {};
  const cached = toCount(usage?.cached_input_tokens);
  const [from, to] = [time?.start ?? 0, time?.end ?? 0];
  return {
    message: {
      content: readableText(toBlocks(message, context)) || null,
      reasoning: message.reasoning_content ?? null,
      tool_calls: toCalls(message),
    },
    usage: usage
      ? {
          prompt_tokens: toCount(usage.prompt_tokens) + cached,
          completion_tokens: toCount(usage.completion_tokens),
          cached_tokens: cached,
          reasoning_tokens: toCount(usage.reasoning_tokens),
          cost_usd: usage.cost ?? null,
        }
      : undefined,
    finishReason: toFinishReason(call?.finish_reason),
    startedAt: timeAt(from || timestamp),
    modelMs: toCount(Math.max(0, to - from) * 1_000),
    tokenIds: token_ids && token_ids.length > 0 ? { prompt: null, completion: token_ids } : null,
    logprobs: logprobs && logprobs.length > 0 ? { content: logprobs, refusal: null } : null,
  };
}

/** @param seconds since 1970. */
function timeAt(seconds: number | null | undefined): string | undefined {
  return seconds ? toTime(seconds * 1_000) : undefined;
}
