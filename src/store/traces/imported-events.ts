import { OUTSIDE_STEPS } from '../../contract/names.ts';
import type { EventBody } from '../../contract/service/event.ts';
import type { Step, ToolResultRecord } from '../../contract/service/trace.ts';
import type { ImportedTrace } from '../formats/imported-trace.ts';

/** An event with its own time. */
export interface TimedEvent {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly body: EventBody;
}

/** `timeout_seconds` of imported runs, which are over. */
const TIMEOUT_SECONDS = 3_600;

/**
 * The events that project to the given trace: an imported trace is stored like any other. Facts that the file lacks are
 * left out where an event allows it.
 *
 * @param now milliseconds since 1970, used when the file gives no time.
 */
export function toImportedEvents(trace: ImportedTrace, now: number): readonly TimedEvent[] {
  const createdAt = timeOf(trace.created_at) ?? now;
  const startedAt = timeOf(trace.started_at);
  const finishedAt = timeOf(trace.finished_at) ?? startedAt ?? createdAt;
  const base = startedAt ?? createdAt;
  return [
    { at: createdAt, body: toQueued(trace) },
    ...toStart(trace, createdAt, startedAt),
    ...toSandboxes(trace, base, finishedAt),
    ...toSetup(trace, base),
    ...toTurns(trace, base, finishedAt),
    ...toEnd(trace, finishedAt),
  ];
}

function toQueued(trace: ImportedTrace): EventBody {
  return {
    type: 'run.queued',
    origin: 'import',
    env_name: trace.env_name,
    scenario_name: trace.scenario_name,
    scenario_args: trace.scenario_args,
    model: trace.model,
    ...(trace.model_target === undefined ? {} : { model_target: trace.model_target }),
    ...(trace.agent === undefined ? {} : { agent: trace.agent }),
    max_steps: trace.max_steps,
    timeout_seconds: TIMEOUT_SECONDS,
    seed: trace.seed,
    sampling: trace.sampling,
    metadata: trace.metadata,
    priority: 0,
    imported: { task_id: trace.task_id, attempt_index: trace.attempt_index },
    previous_end: null,
  };
}

function toStart(trace: ImportedTrace, createdAt: number, startedAt: number | undefined): TimedEvent[] {
  if (startedAt === undefined) return [];
  const { versions, timing } = trace;
  // The run waited in the queue until it started, then for a process, and then for its sandboxes. Earlier attempts can make this negative.
  const sandboxMs = Math.max(0, ...(trace.sandboxes ?? []).map(({ queued_ms }) => queued_ms));
  const waitedMs = timing.queued_ms - sandboxMs - Math.max(0, startedAt - createdAt);
  const started: TimedEvent = { at: startedAt, body: { type: 'run.started', worker: 'import', versions } };
  if (timing.environment_ms === 0 && waitedMs === 0) return [started];
  const duration = { waited_ms: waitedMs, duration_ms: timing.environment_ms };
  return [started, { at: startedAt, body: { type: 'environment.ready', name: trace.env_name, versions, ...duration } }];
}

function* toSandboxes({ sandboxes = [] }: ImportedTrace, at: number, finishedAt: number): Generator<TimedEvent> {
  for (const { end, refused, ...facts } of sandboxes) {
    yield { at, body: { type: 'sandbox.started', ...facts } };
    for (const each of refused)
      yield { at: finishedAt, body: { type: 'sandbox.refused', sandbox: facts.name, ...each } };
    if (end !== null) yield { at: finishedAt, body: { type: 'sandbox.ended', name: facts.name, ...end } };
  }
}

function toSetup({ system, prompt, tools, timing }: ImportedTrace, at: number): TimedEvent[] {
  const isEmpty = system === null && prompt.length === 0 && tools.length === 0 && timing.setup_ms === 0;
  if (isEmpty) return [];
  const setup = { system, prompt, tools, answer_schema: null, duration_ms: timing.setup_ms };
  return [{ at, body: { type: 'setup.completed', ...setup } }];
}

function* toTurns(trace: ImportedTrace, base: number, finishedAt: number): Generator<TimedEvent> {
  // Calls without a result are only counted. Repeated calls are not counted.
  const own = trace.steps.filter(({ repeated }) => repeated !== true);
  let unanswered =
    trace.usage.tool_calls - [...own.flatMap((step) => step.tool_results), ...(trace.tool_calls ?? [])].length;
  for (const [index, { turn, started_at, finished_at, messages, status, user }] of trace.turns.entries()) {
    const begunAt = timeOf(started_at) ?? base;
    const endedAt = timeOf(finished_at) ?? finishedAt;
    yield { at: begunAt, body: { type: 'turn.started', turn, messages } };
    for (const step of trace.steps.filter((each) => each.turn === turn)) {
      yield* toStep(step, timeOf(step.started_at) ?? begunAt);
      const open = step.message.tool_calls.slice(step.tool_results.length);
      for (const call of open.slice(0, Math.max(0, unanswered))) {
        unanswered -= 1;
        const { id, name, arguments: given, raw_arguments } = call;
        const body = { turn, step: step.step, tool_call_id: id, name, arguments: given, raw_arguments };
        yield { at: begunAt, body: { type: 'tool.called', ...body } };
      }
    }
    const isLast = index === trace.turns.length - 1;
    if (isLast) for (const record of trace.tool_calls ?? []) yield* toCall(record, turn, OUTSIDE_STEPS, begunAt);
    // The trace has only the total wall time of all turns, so the first turn gets it.
    yield {
      at: endedAt,
      body: { type: 'turn.finished', turn, status, tool_ms: index === 0 ? trace.timing.tool_ms : 0 },
    };
    if (user !== undefined) yield { at: endedAt, body: { type: 'user.responded', turn, ...user } };
  }
  for (const { ...entry } of trace.ledger ?? []) yield { at: finishedAt, body: { type: 'ledger.noted', ...entry } };
}

function* toStep(step: Step, at: number): Generator<TimedEvent> {
  const { turn, branch, compacted, input, message, finish_reason, usage, token_ids, logprobs } = step;
  const beside = {
    ...(branch === undefined ? {} : { branch }),
    ...(compacted === undefined ? {} : { compacted }),
    ...(input === undefined ? {} : { input }),
  };
  yield { at, body: { type: 'model.requested', turn, step: step.step, ...beside } };
  const { retries, repeated, model_ms: duration_ms } = step;
  const spent = { retries, duration_ms, ...(repeated === undefined ? {} : { repeated }) };
  const said = { message, finish_reason, usage, token_ids, logprobs, ...spent };
  const respondedAt = at + duration_ms;
  yield { at: respondedAt, body: { type: 'model.responded', turn, step: step.step, ...said } };
  for (const record of step.tool_results) yield* toCall(record, turn, step.step, respondedAt);
}

function* toCall(record: ToolResultRecord, turn: number, step: number, at: number): Generator<TimedEvent> {
  const { tool_call_id, name, arguments: given, raw_arguments, ...responded } = record;
  const place = { turn, step, tool_call_id, name };
  yield { at, body: { type: 'tool.called', ...place, arguments: given, raw_arguments } };
  yield { at: at + record.duration_ms, body: { type: 'tool.responded', ...place, ...responded } };
}

function* toEnd(trace: ImportedTrace, at: number): Generator<TimedEvent> {
  const { answer, answer_fits, evaluation, timing, error, replay, judgements = [] } = trace;
  const { sample } = trace.usage;
  if (answer !== null || !answer_fits) {
    yield { at, body: { type: 'answer.submitted', answer, ...(answer_fits ? {} : { fits: false }) } };
  }
  for (const judgement of judgements) yield { at, body: { type: 'judge.responded', ...judgement } };
  // The trace has only the total usage of these calls.
  if (sample !== undefined) {
    yield { at, body: { type: 'sample.responded', model: 'unknown', usage: sample, duration_ms: 0 } };
  }
  if (evaluation !== null) {
    yield { at, body: { type: 'evaluation.completed', evaluation, duration_ms: timing.evaluate_ms } };
  }
  const status = trace.status === 'completed' || trace.status === 'cancelled' ? trace.status : 'failed';
  const end = { status, stop_reason: trace.stop_reason ?? 'error', reward: trace.reward, error } as const;
  yield { at, body: { type: 'run.finished', ...end, ...(replay === undefined ? {} : { replay }) } };
}

/** The time in milliseconds; undefined for years that databases and pages cannot show. */
function timeOf(time: string | null): number | undefined {
  const at = time === null || time === '' ? Number.NaN : Date.parse(time);
  return at >= 0 && at < MAX_TIME ? at : undefined;
}

const MAX_TIME = Date.parse('9999-01-01T00:00:00Z');
