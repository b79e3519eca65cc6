import type { FinishReason } from '../contract/chat.ts';
import { MAX_STEPS } from '../contract/names.ts';
import type { Step, Trace } from '../contract/trace.ts';
import { sumUsage } from '../contract/usage.ts';
import { type ImportedTrace, NO_TIMING, type ReadContext, toCount, UNKNOWN_VERSIONS } from './imported-trace.ts';
import type { ReadConversation } from './read-conversation.ts';

/** Facts of a file of others beside its conversation; what is left out is not known. */
export interface ForeignFacts {
  readonly env: string | undefined;
  readonly scenario?: string | undefined;
  readonly model: string | undefined;
  readonly format: string;
  /** The name that the file has for this run. */
  readonly id?: string | undefined;
  readonly status?: ImportedTrace['status'];
  readonly stop_reason?: ImportedTrace['stop_reason'];
  readonly error?: Trace['error'];
  readonly reward?: number | null;
  readonly evaluation?: Trace['evaluation'];
  readonly answer?: Trace['answer'];
  readonly tools?: Trace['tools'];
  readonly task_id?: string | null;
  readonly attempt_index?: number | null;
  readonly scenario_args?: Trace['scenario_args'];
  readonly seed?: number | null;
  readonly max_steps?: number | undefined;
  readonly metadata?: Trace['metadata'];
  readonly created_at?: string | undefined;
  readonly started_at?: string | undefined;
  readonly finished_at?: string | undefined;
  /** Tokens of the whole, where the file counts them for no single response. */
  readonly total?: Partial<Step['usage']> | undefined;
}

/** Scenario of runs whose file knows no such thing. */
const NO_SCENARIO = 'imported';
const MAX_NAME = 200;

/** A trace of a file of others: what it does not say is 0, null or empty. */
export function toForeignTrace(
  conversation: ReadConversation,
  facts: ForeignFacts,
  { options }: ReadContext,
): ImportedTrace {
  const { status = 'completed' } = facts;
  const createdAt = facts.created_at ?? facts.started_at ?? firstTime(conversation);
  const startedAt = facts.started_at ?? createdAt ?? null;
  const at = startedAt ?? '';
  const finishedAt = facts.finished_at ?? lastTime(conversation) ?? createdAt;
  const steps = withTotal(conversation.steps, facts.total).map((step) => ({
    ...step,
    started_at: step.started_at === '' ? at : step.started_at,
  }));
  const stopReason = facts.stop_reason ?? (status === 'completed' ? 'answered' : 'error');
  const calls = steps.reduce((total, { tool_results }) => total + tool_results.length, 0);
  return {
    status,
    stop_reason: stopReason,
    task_id: facts.task_id ?? null,
    attempt_index: facts.attempt_index ?? null,
    env_name: nameOf(options.envName ?? facts.env ?? facts.format),
    scenario_name: nameOf(options.scenarioName ?? facts.scenario ?? NO_SCENARIO),
    scenario_args: facts.scenario_args ?? {},
    model: nameOf(facts.model ?? 'unknown'),
    max_steps: facts.max_steps ?? Math.max(MAX_STEPS.default, steps.length),
    seed: facts.seed ?? null,
    sampling: {},
    metadata: {
      source_format: facts.format,
      ...(facts.id === undefined ? {} : { source_id: facts.id.slice(0, MAX_NAME) }),
      ...facts.metadata,
    },
    versions: UNKNOWN_VERSIONS,
    created_at: createdAt ?? null,
    started_at: startedAt,
    finished_at: finishedAt ?? null,
    system: conversation.system,
    prompt: conversation.prompt,
    tools: facts.tools ?? [],
    turns: conversation.toTurns(turnStatus(status, stopReason), at, finishedAt ?? ''),
    steps,
    answer: facts.answer ?? conversation.lastText(),
    reward: facts.reward ?? null,
    evaluation: facts.evaluation ?? null,
    usage: { model_calls: steps.length, tool_calls: calls, ...sumUsage(steps.map(({ usage }) => usage)) },
    timing: {
      ...NO_TIMING,
      queued_ms: millisecondsBetween(createdAt, startedAt),
      model_ms: steps.reduce((total, { model_ms }) => total + model_ms, 0),
      tool_ms: steps.flatMap((step) => step.tool_results).reduce((total, { duration_ms }) => total + duration_ms, 0),
    },
    error: facts.error ?? null,
    answer_fits: true,
  };
}

/** A name of a file as columns and pages hold it. */
export function nameOf(given: string): string {
  const name = given
    .replace(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, MAX_NAME);
  return name === '' ? 'unknown' : name;
}

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  max_tokens: 'length',
  model_length: 'length',
  length: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'content_filter',
};

export function toFinishReason(given: unknown): FinishReason | undefined {
  return typeof given === 'string' && Object.hasOwn(FINISH_REASONS, given) ? FINISH_REASONS[given] : undefined;
}

/** Tokens of the whole stand at the last response, where no response has any: the sum is then the file's. */
function withTotal(steps: readonly Step[], total: ForeignFacts['total']): Step[] {
  const last = steps.at(-1);
  if (total === undefined || last === undefined || steps.some(({ usage }) => usage.total_tokens > 0)) return [...steps];
  const prompt = toCount(total.prompt_tokens);
  const completion = toCount(total.completion_tokens);
  const usage = { ...last.usage, ...total, prompt_tokens: prompt, completion_tokens: completion };
  return [
    ...steps.slice(0, -1),
    { ...last, usage: { ...usage, total_tokens: total.total_tokens ?? prompt + completion } },
  ];
}

function turnStatus(status: ImportedTrace['status'], stopReason: string): Trace['turns'][number]['status'] {
  if (status === 'failed') return 'failed';
  if (status === 'cancelled') return 'aborted';
  return stopReason === 'max_steps' || stopReason === 'length' ? stopReason : 'answered';
}

function firstTime({ turns, steps }: ReadConversation): string | undefined {
  return timesOf(turns, steps)[0];
}

function lastTime({ turns, steps }: ReadConversation): string | undefined {
  return timesOf(turns, steps).at(-1);
}

function timesOf(turns: ReadConversation['turns'], steps: readonly Step[]): string[] {
  return [...turns.map((turn) => turn.started_at ?? ''), ...steps.map((step) => step.started_at)]
    .filter((time) => time !== '')
    .sort();
}

function millisecondsBetween(from: string | undefined, to: string | null): number {
  return from === undefined || to === null ? 0 : Math.max(0, Date.parse(to) - Date.parse(from));
}
