import type { FinishReason } from '../../contract/chat.ts';
import { MAX_STEPS } from '../../contract/names.ts';
import type { Step, Trace } from '../../contract/service/trace.ts';
import { sumUsage } from '../../contract/service/usage.ts';
import { type ImportedTrace, NO_TIMING, type ReadContext, UNKNOWN_VERSIONS } from './imported-trace.ts';
import { isMain } from './is-main.ts';
import { countTotal, type ReadConversation } from './read-conversation.ts';

/** Facts of a foreign file beside its conversation. Missing fields are unknown. */
export interface ForeignFacts {
  readonly env: string | undefined;
  readonly scenario?: string | undefined;
  readonly model: string | undefined;
  readonly format: string;
  /** Id of the run in the file. */
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
  /** Total tokens, when the file does not count them for each response. */
  readonly total?: Partial<Step['usage']> | undefined;
}

/** Scenario name of runs whose file names no scenario. */
const NO_SCENARIO = 'imported';
const MAX_NAME = 200;

/** Builds a trace from a foreign file. Unknown fields are 0, null or empty. */
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
  if (facts.total !== undefined) countTotal(conversation.steps.filter(isMain), facts.total);
  const steps = conversation.steps.map((step) => ({
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

/** Shortens and cleans a name of a file for columns and pages. */
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
