import { OUTSIDE_STEPS } from '../../../contract/names.ts';
import type { EventOf, TraceEvent } from '../../../contract/service/event.ts';
import type {
  JudgementRecord,
  LedgerEntry,
  Step,
  Trace,
  TurnStatus,
  UserReplyRecord,
} from '../../../contract/service/trace.ts';
import { sumUsage } from '../../../contract/service/usage.ts';
import { SandboxRows } from './sandbox-fields.ts';
import { ToolResults } from './tool-results.ts';
import type { LastResponse } from './trace-outcome.ts';
import { HarnessUsages } from './usage-totals.ts';

/** Fields of a trace that come from one attempt. */
export type AttemptFields = Pick<
  Trace,
  | 'versions'
  | 'started_at'
  | 'system'
  | 'prompt'
  | 'tools'
  | 'sandboxes'
  | 'turns'
  | 'steps'
  | 'tool_calls'
  | 'ledger'
  | 'answer'
  | 'judgements'
  | 'evaluation'
  | 'usage'
> & { readonly timing: Omit<Trace['timing'], 'total_ms'> };

/** Versions before the run starts, when they are still unknown. */
const UNKNOWN_VERSIONS: Trace['versions'] = {
  proctor: '',
  environment: null,
  environment_hash: null,
  protocol: null,
  node: '',
};

/** Computes the fields of a trace from the events of one attempt, or of a chat session. */
export class AttemptProjection {
  readonly #queuedAt: string;
  #startedAt: string | null = null;
  #versions = UNKNOWN_VERSIONS;
  #environmentMs = 0;
  /** Milliseconds that the attempt waited for a free process. */
  #waitedMs = 0;
  #setup: EventOf<'setup.completed'> | undefined;
  readonly #turns: Turn[] = [];
  readonly #requested = new Map<number, ModelRequest>();
  #ledger: LedgerEntry[] | undefined;
  readonly #steps: Omit<Step, 'tool_results'>[] = [];
  readonly #toolResults = new ToolResults();
  readonly #judgements: JudgementRecord[] = [];
  readonly #harness = new HarnessUsages();
  readonly #sandboxes = new SandboxRows();
  /** The opening message of a simulated user, before the first turn. */
  #opening: UserReplyRecord | undefined;
  #answer: Trace['answer'] = null;
  #isAnswerUnfit = false;
  #evaluated: EventOf<'evaluation.completed'> | undefined;

  /** @param queuedAt time when the attempt was queued, ISO 8601. */
  constructor(queuedAt: string) {
    this.#queuedAt = queuedAt;
  }

  add(event: TraceEvent): void {
    switch (event.type) {
      case 'run.started':
        this.#startedAt = event.at;
        this.#versions = event.versions;
        break;
      case 'environment.ready':
        this.#environmentMs += event.duration_ms;
        this.#waitedMs += event.waited_ms ?? 0;
        this.#versions = event.versions;
        break;
      case 'sandbox.started':
      case 'sandbox.refused':
      case 'sandbox.ended':
        this.#sandboxes.add(event);
        break;
      case 'setup.completed':
        this.#setup = event;
        break;
      case 'turn.started':
        this.#turns.push({ turn: event.turn, startedAt: event.at, messages: event.messages, end: undefined });
        break;
      case 'model.requested':
        this.#requested.set(event.step, event);
        if (event.input !== undefined) this.#ledger ??= [];
        break;
      case 'model.responded':
        this.#steps.push(toStep(event, this.#requested.get(event.step)));
        break;
      case 'tool.called':
        this.#toolResults.called(event);
        break;
      case 'tool.responded':
        this.#toolResults.responded(event);
        break;
      case 'ledger.noted':
        this.#ledger = [...(this.#ledger ?? []), toLedgerEntry(event)];
        break;
      case 'turn.finished':
        this.#endTurns({ at: event.at, status: event.status, toolMs: event.tool_ms }, event.turn);
        break;
      case 'user.responded': {
        const turn = this.#turns.find((each) => each.turn === event.turn);
        const { type: _type, turn: _turn, seq: _seq, at: _at, attempt: _attempt, ...reply } = event;
        if (turn !== undefined) turn.user = reply;
        else this.#opening = reply;
        this.#harness.add('user', event.usage);
        break;
      }
      case 'judge.responded': {
        const { type: _type, seq: _seq, at: _at, attempt: _attempt, ...judgement } = event;
        this.#judgements.push(judgement);
        this.#harness.add('judge', event.usage);
        break;
      }
      case 'judge.failed':
        this.#harness.add('judge', event.usage);
        break;
      case 'sample.responded':
        this.#harness.add('sample', event.usage);
        break;
      case 'answer.submitted':
        this.#answer = event.answer;
        this.#isAnswerUnfit = event.fits === false;
        break;
      case 'evaluation.completed':
        this.#evaluated = event;
        break;
      case 'run.finished':
        // A turn without an end was cut off with the run.
        this.#endTurns({ at: event.at, status: event.status === 'failed' ? 'failed' : 'aborted', toolMs: undefined });
        break;
    }
  }

  toTraceFields(): AttemptFields {
    const toolCalls = this.#toolResults.of(OUTSIDE_STEPS);
    return {
      versions: this.#versions,
      started_at: this.#startedAt,
      system: this.#setup?.system ?? null,
      prompt: this.#setup?.prompt ?? [],
      tools: this.#setup?.tools ?? [],
      ...this.#sandboxes.toFields(),
      turns: this.#turns.map((turn, index) => this.#toTraceTurn(turn, index === 0 ? this.#opening : undefined)),
      steps: this.#steps.map((step) => ({ ...step, tool_results: this.#toolResults.of(step.step) })),
      ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
      ...(this.#ledger === undefined ? {} : { ledger: this.#ledger }),
      answer: this.#answer,
      ...(this.#judgements.length === 0 ? {} : { judgements: [...this.#judgements] }),
      evaluation: this.#evaluated?.evaluation ?? null,
      usage: { ...this.#sumUsage(), ...this.#harness.toFields() },
      timing: {
        queued_ms:
          this.#startedAt === null
            ? 0
            : millisecondsBetween(this.#queuedAt, this.#startedAt) + this.#waitedMs + this.#sandboxes.queuedMs,
        environment_ms: this.#environmentMs,
        ...this.#sandboxes.toTiming(),
        setup_ms: this.#setup?.duration_ms ?? 0,
        model_ms: sum(this.#steps.map(({ model_ms }) => model_ms)),
        tool_ms: sum(this.#turns.map((turn) => turn.end?.toolMs ?? this.#sumToolMs(turn))),
        evaluate_ms: this.#evaluated?.duration_ms ?? 0,
      },
    };
  }

  /** Usage of the attempt. Steps that were copied from another trace cost nothing. */
  #sumUsage(): Trace['usage'] {
    const own = this.#steps.filter(({ repeated }) => repeated !== true);
    const repeated = this.#steps.filter((step) => step.repeated === true);
    return {
      model_calls: own.length,
      tool_calls: this.#toolResults.calls - sum(repeated.map(({ step }) => this.#toolResults.of(step).length)),
      ...sumUsage(own.map(({ usage }) => usage)),
    };
  }

  /** True when the submitted answer does not match the scenario's answer schema. */
  get isAnswerUnfit(): boolean {
    return this.#isAnswerUnfit;
  }

  get lastResponse(): LastResponse | undefined {
    // Side conversations of an agent at a seat do not show how the run ended.
    const last = this.#steps.findLast(({ branch }) => branch === undefined || branch === null);
    if (last === undefined) return undefined;
    return { finishReason: last.finish_reason, isRefusal: (last.message.refusal ?? '') !== '' };
  }

  /** Ends the turn with this number, or every open turn. */
  #endTurns(end: TurnEnd, number?: number): void {
    for (const turn of this.#turns) {
      if (turn.end === undefined && (number === undefined || turn.turn === number)) turn.end = end;
    }
  }

  #toTraceTurn(
    { turn, startedAt, messages, end, user }: Turn,
    opening: UserReplyRecord | undefined,
  ): Trace['turns'][number] {
    return {
      turn,
      started_at: startedAt,
      finished_at: end?.at ?? null,
      messages,
      status: end?.status ?? 'running',
      steps: this.#stepsOf(turn),
      ...(opening === undefined ? {} : { opening }),
      ...(user === undefined ? {} : { user }),
    };
  }

  #stepsOf(turn: number): number[] {
    return this.#steps.filter((step) => step.turn === turn).map(({ step }) => step);
  }

  /** Sum of tool durations, for a turn without an end and so without wall time. Parallel calls count twice. */
  #sumToolMs({ turn }: Turn): number {
    const results = [OUTSIDE_STEPS, ...this.#stepsOf(turn)].flatMap((step) => this.#toolResults.of(step));
    return sum(results.map(({ duration_ms }) => duration_ms));
  }
}

interface Turn {
  readonly turn: number;
  readonly startedAt: string;
  readonly messages: EventOf<'turn.started'>['messages'];
  end: TurnEnd | undefined;
  user?: UserReplyRecord;
}

interface TurnEnd {
  readonly at: string;
  readonly status: TurnStatus;
  readonly toolMs: number | undefined;
}

/** Milliseconds between two times. Never negative, even if the clock was set back. */
export function millisecondsBetween(from: string, to: string): number {
  return Math.max(0, Date.parse(to) - Date.parse(from));
}

type ModelRequest = EventOf<'model.requested'> & TraceEvent;

function toStep(event: EventOf<'model.responded'> & TraceEvent, requested: ModelRequest | undefined) {
  const { branch, compacted, input } = requested ?? {};
  return {
    step: event.step,
    turn: event.turn,
    ...(branch === undefined ? {} : { branch }),
    ...(compacted === undefined ? {} : { compacted }),
    ...(input === undefined ? {} : { input }),
    started_at: requested?.at ?? new Date(Date.parse(event.at) - event.duration_ms).toISOString(),
    model_ms: event.duration_ms,
    message: event.message,
    finish_reason: event.finish_reason,
    usage: event.usage,
    token_ids: event.token_ids,
    logprobs: event.logprobs,
    retries: event.retries,
    ...(event.repeated === true ? { repeated: true } : {}),
  };
}

function toLedgerEntry(event: EventOf<'ledger.noted'>): LedgerEntry {
  const { step, tool_call_id, kind, name, expected, reported } = event;
  return { step, tool_call_id, kind, name, expected, reported };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
