import type { EventOf, TraceEvent } from '../../../contract/service/event.ts';
import type { RunStatus } from '../../../contract/service/run.ts';
import type { Trace, TraceSummary } from '../../../contract/service/trace.ts';
import { AttemptProjection, millisecondsBetween } from './attempt-projection.ts';
import { toOutcome } from './trace-outcome.ts';
import { addUsage, NO_USAGE, type UsageTotals } from './usage-totals.ts';

/** Id and address of a trace. Its events do not have them. */
export interface TraceIdentity {
  readonly traceId: string;
  readonly traceUrl: string;
}

/**
 * Computes a trace from its events, oldest first, starting with `run.queued`. Steps, turns, usage, timing, answer and
 * evaluation are those of the last attempt; `attempts` and `logs` cover all attempts.
 *
 * @throws Error when the first event is not `run.queued`.
 */
export function projectTrace(events: Iterable<TraceEvent>, identity: TraceIdentity): Trace {
  const projection = new TraceProjection(identity);
  for (const event of events) projection.add(event);
  return projection.toTrace();
}

/** A trace in a list. */
export function toSummary({
  sandboxes: _sandboxes,
  steps: _steps,
  tool_calls: _calls,
  ledger: _ledger,
  logs: _logs,
  ...summary
}: Trace): TraceSummary {
  return summary;
}

const NO_EVALUATION = { evaluation_id: null, task_id: null, attempt_index: null, rerun: 0, superseded: false } as const;
/** Fields that summaries of earlier versions lack. Grades are not in the events: the store adds them. */
const NOT_REPEATED = { parent: null, replay: null, grades: [] };

/** Parses a stored summary and adds the fields that earlier versions lack. */
export function parseSummary(stored: string): TraceSummary {
  const summary = JSON.parse(stored) as TraceSummary;
  const attempts = summary.attempts.map((entry) => ({ ...entry, error: entry.error ?? null }));
  const outcome = summary.outcome ?? toOutcome({ trace: summary, lastResponse: undefined, isAnswerUnfit: false });
  const target = summary.model_target ?? summary.model;
  return { ...NO_EVALUATION, ...NOT_REPEATED, ...summary, model_target: target, outcome, attempts };
}

/** An incremental `projectTrace`, for events that are read in pages. */
export class TraceProjection {
  readonly #identity: TraceIdentity;
  #request: StampedEvent<'run.queued'> | undefined;
  #finished: StampedEvent<'run.finished'> | undefined;
  #attempt: AttemptProjection | undefined;
  readonly #attempts: AttemptEntry[] = [];
  readonly #logs: Trace['logs'] = [];
  #used: Omit<UsageTotals, 'ms'> = NO_USAGE;

  constructor(identity: TraceIdentity) {
    this.#identity = identity;
  }

  add(event: TraceEvent): void {
    switch (event.type) {
      case 'run.queued':
        this.#request ??= event;
        this.#endAttempt(event.at, event.previous_end, event.previous_error);
        this.#attempts.push({ attempt: event.attempt, started_at: null, ended_at: null, end: null, error: null });
        this.#attempt = new AttemptProjection(event.at);
        return;
      case 'log':
        this.#logs.push({ at: event.at, level: event.level, logger: event.logger, message: event.message });
        return;
      case 'run.finished':
        this.#finished = event;
        this.#endAttempt(event.at, event.status, event.error);
        break;
      case 'run.started':
        this.#updateAttempt({ started_at: event.at });
        break;
      case 'model.responded':
        if (event.repeated !== true) this.#used = addUsage(this.#used, { model_calls: 1, ...event.usage });
        break;
      case 'user.responded':
      case 'judge.responded':
      case 'judge.failed':
      case 'sample.responded':
        this.#used = addUsage(this.#used, event.usage);
        break;
    }
    this.#attempt?.add(event);
  }

  /** Usage of all attempts. The trace has only that of the last one. */
  toUsed(): UsageTotals {
    const spans = this.#attempts.map(({ started_at: start, ended_at: end }) =>
      start === null || end === null ? 0 : millisecondsBetween(start, end),
    );
    return { ...this.#used, ms: spans.reduce((total, ms) => total + ms, 0) };
  }

  /** Largest number of automatic reruns of an evaluation's attempt. */
  get rerunLimit(): number | undefined {
    return this.#request?.evaluation?.rerun_limit;
  }

  /** The trace after the events so far. @throws Error when the first event was not `run.queued`. */
  toTrace(): Trace {
    const request = this.#request;
    const attempt = this.#attempt;
    if (request === undefined || attempt === undefined) {
      throw new Error(`The events of trace ${this.#identity.traceId} do not begin with run.queued`);
    }
    const finished = this.#finished;
    const did = attempt.toTraceFields();
    const status: RunStatus = finished?.status ?? (did.started_at === null ? 'queued' : 'running');
    const ending = { status, stop_reason: finished?.stop_reason ?? null, error: finished?.error ?? null };
    const { lastResponse, isAnswerUnfit } = attempt;
    const outcome = toOutcome({ trace: ending, lastResponse, isAnswerUnfit });
    return {
      object: 'trace',
      version: 1,
      trace_id: this.#identity.traceId,
      trace_url: this.#identity.traceUrl,
      origin: request.origin,
      ...ending,
      outcome,
      ...toEvaluationFields(request),
      parent: request.parent ?? null,
      replay: finished?.replay ?? null,
      grades: [],
      attempt: this.#attempts.at(-1)?.attempt ?? 1,
      attempts: this.#attempts.map((entry) => ({ ...entry })),
      env_name: request.env_name,
      scenario_name: request.scenario_name,
      scenario_args: request.scenario_args,
      model: request.model,
      ...(request.agent ? { agent: request.agent } : {}),
      model_target: request.model_target ?? request.model,
      max_steps: request.max_steps,
      seed: request.seed,
      sampling: request.sampling,
      metadata: request.metadata,
      ...did,
      created_at: request.at,
      finished_at: finished?.at ?? null,
      reward: toReward(outcome, finished),
      timing: { ...did.timing, total_ms: finished === undefined ? 0 : millisecondsBetween(request.at, finished.at) },
      logs: [...this.#logs],
    };
  }

  #endAttempt(at: string, end: AttemptEntry['end'], error: AttemptEntry['error'] = null): void {
    this.#updateAttempt({ ended_at: at, end, error });
  }

  #updateAttempt(change: Partial<AttemptEntry>): void {
    const last = this.#attempts.pop();
    if (last !== undefined) this.#attempts.push({ ...last, ...change });
  }
}

type StampedEvent<Type extends TraceEvent['type']> = EventOf<Type> & TraceEvent;
type AttemptEntry = Trace['attempts'][number];

/**
 * The reward of a trace. The reward of a failed or cancelled run is only in `evaluation` (contract section 3). An agent
 * that crashed, or whose answer does not match its schema, gets 0, whatever the evaluation says (contract section 7,
 * "Outcomes").
 */
function toReward(outcome: Trace['outcome'], finished: EventOf<'run.finished'> | undefined): number | null {
  // A seat whose time ran out may never have had an agent.
  if (outcome === 'agent_error') return finished?.error?.code === 'turn_timeout' ? null : 0;
  return finished?.status === 'completed' ? finished.reward : null;
}

function toEvaluationFields({ evaluation, imported }: EventOf<'run.queued'>) {
  if (evaluation === null || evaluation === undefined) return { ...NO_EVALUATION, ...imported };
  const { rerun_limit: _limit, ...fields } = evaluation;
  return { ...fields, superseded: false };
}
