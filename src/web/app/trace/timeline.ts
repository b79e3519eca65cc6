import type { RunErrorBody } from '../../../contract/error-shapes.ts';
import { OUTSIDE_STEPS } from '../../../contract/names.ts';
import type { EventOf, TraceEvent } from '../../../contract/service/event.ts';
import type { AttemptEnd, LedgerEntry, LogRecord } from '../../../contract/service/trace.ts';
import { toSandboxEnd, toSandboxStart } from './steps/sandbox-lines.ts';

type Stamp = Pick<TraceEvent, 'seq' | 'at' | 'attempt'>;
export type Stamped<Type extends TraceEvent['type']> = EventOf<Type> & Stamp;

/** One tool call of a step, as far as it has come. */
export interface CallView {
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Text that a model sent in place of JSON. */
  readonly rawArguments: string | null;
  /** Undefined: it was not made. */
  readonly calledAt: string | undefined;
  readonly result: Stamped<'tool.responded'> | undefined;
  /** Log lines while it ran. */
  readonly logs: readonly LogRecord[];
}

/** One request to the model with what came of it. */
export interface StepEntry {
  readonly kind: 'step';
  readonly id: string;
  readonly step: number;
  readonly turn: number;
  readonly requestedAt: string | undefined;
  /** Undefined for calls that no step asked for. */
  readonly request: Stamped<'model.requested'> | undefined;
  /** A call of an agent at a seat that its gateway did not answer. */
  readonly failure: Stamped<'model.failed'> | undefined;
  /** At a seat: where the calls of the model and those of the agent differ. */
  readonly differences: readonly LedgerEntry[];
  /** Undefined while the model answers, or where it never did. */
  readonly response: Stamped<'model.responded'> | undefined;
  readonly calls: readonly CallView[];
  /** Log lines beside its calls. */
  readonly logs: readonly LogRecord[];
}

/** An entry of the transcript. `id` is its anchor. */
export type Entry =
  | { readonly kind: 'environment'; readonly id: string; readonly event: Stamped<'environment.ready'> }
  | { readonly kind: 'setup'; readonly id: string; readonly event: Stamped<'setup.completed'> }
  | { readonly kind: 'turn'; readonly id: string; readonly event: Stamped<'turn.started'> }
  | { readonly kind: 'user'; readonly id: string; readonly event: Stamped<'user.responded'> }
  | {
      readonly kind: 'judgement';
      readonly id: string;
      readonly event: Stamped<'judge.responded'> | Stamped<'judge.failed'>;
    }
  | StepEntry
  | { readonly kind: 'logs'; readonly id: string; readonly logs: readonly LogRecord[] }
  | { readonly kind: 'answer'; readonly id: string; readonly event: Stamped<'answer.submitted'> }
  | { readonly kind: 'evaluation'; readonly id: string; readonly event: Stamped<'evaluation.completed'> };

export interface AttemptView {
  readonly attempt: number;
  readonly startedAt: string | undefined;
  readonly worker: string | undefined;
  readonly endedAt: string | undefined;
  /** Null while it goes on. */
  readonly end: AttemptEnd | null;
  /** Why it was lost, where that is known. */
  readonly lossError: RunErrorBody | null;
  readonly entries: readonly Entry[];
}

/** Name of a step for people; the calls of an agent that brings its own model are together in one without a response. */
export function stepName(step: number): string {
  return step === OUTSIDE_STEPS ? 'calls' : `step ${step}`;
}

/** True where a call of the step failed, could not be read, or, in a run that is over, has no result. */
export function hasProblem(step: StepEntry, isLive: boolean): boolean {
  return step.calls.some(
    ({ result, rawArguments }) =>
      result?.is_error === true || rawArguments !== null || (result === undefined && !isLive),
  );
}

/** The attempts of a run, oldest first, from its events in their order. What did not change stays the same object. */
export class Timeline {
  readonly #attempts: Attempt[] = [];

  add(event: TraceEvent): void {
    if (event.type === 'run.queued') {
      this.#attempts.at(-1)?.ended(event.at, event.previous_end, event.previous_error);
      this.#attempts.push(new Attempt(event));
      return;
    }
    this.#attempts.at(-1)?.add(event);
  }

  attempts(): readonly AttemptView[] {
    return this.#attempts.map((attempt) => attempt.toView());
  }
}

class Attempt {
  #view: AttemptView;
  readonly #entries: Entry[] = [];
  readonly #prefix: string;
  #isChanged = false;

  constructor({ attempt }: Stamped<'run.queued'>) {
    // The last attempt is what most links are to; those before it only exist where a worker was lost.
    this.#prefix = attempt === 1 ? '' : `attempt-${attempt}-`;
    this.#view = {
      attempt,
      startedAt: undefined,
      worker: undefined,
      endedAt: undefined,
      end: null,
      lossError: null,
      entries: [],
    };
  }

  toView(): AttemptView {
    if (this.#isChanged) this.#view = { ...this.#view, entries: [...this.#entries] };
    this.#isChanged = false;
    return this.#view;
  }

  ended(at: string, end: AttemptEnd | null, lossError: RunErrorBody | null = null): void {
    this.#view = { ...this.#view, endedAt: at, end, lossError };
  }

  add(event: TraceEvent): void {
    this.#isChanged = true;
    switch (event.type) {
      case 'run.started':
        this.#view = { ...this.#view, startedAt: event.at, worker: event.worker };
        return;
      case 'environment.ready':
        this.#push({ kind: 'environment', id: `environment-${event.seq}`, event });
        return;
      case 'sandbox.started':
        this.#addLog({ ...event, type: 'log', logger: 'sandbox', ...toSandboxStart(event) });
        return;
      case 'sandbox.refused':
        this.#addLog({
          ...event,
          type: 'log',
          level: 'warning',
          logger: 'sandbox',
          message: `${event.sandbox}: the network refused ${event.host}:${event.port}`,
        });
        return;
      case 'sandbox.ended':
        this.#addLog({ ...event, type: 'log', logger: 'sandbox', ...toSandboxEnd(event) });
        return;
      case 'setup.completed':
        this.#push({ kind: 'setup', id: 'prompt', event });
        return;
      case 'turn.started':
        if ((event.turn > 1 || !this.#isPrompt(event.messages)) && !this.#isTold(event))
          this.#push({ kind: 'turn', id: `turn-${event.turn}`, event });
        return;
      case 'user.responded':
        // A reply is how the next turn begins: links to that turn lead to it.
        this.#push({ kind: 'user', id: event.is_over ? `user-${event.turn}` : `turn-${event.turn + 1}`, event });
        return;
      case 'judge.responded':
      case 'judge.failed':
        this.#push({ kind: 'judgement', id: `judgement-${event.seq}`, event });
        return;
      case 'model.requested':
        this.#renameUnanswered(event);
        this.#push({ ...toStep(event), request: event, requestedAt: event.at });
        return;
      case 'model.responded':
        this.#updateStep(event, (step) => ({ ...step, response: event, calls: event.message.tool_calls.map(toCall) }));
        return;
      case 'model.failed':
        this.#updateStep(event, (step) => ({ ...step, failure: event }));
        return;
      case 'ledger.noted':
        this.#updateStep({ ...event, turn: 1 }, (step) => ({ ...step, differences: [...step.differences, event] }));
        return;
      case 'tool.called':
        this.#updateStep(event, (step) => ({ ...step, calls: withCall(step.calls, event) }));
        return;
      case 'tool.responded':
        this.#updateStep(event, (step) => ({ ...step, calls: withResult(step.calls, event) }));
        return;
      case 'answer.submitted':
        this.#push({ kind: 'answer', id: 'answer', event });
        return;
      case 'evaluation.completed':
        this.#push({ kind: 'evaluation', id: 'evaluation', event });
        return;
      case 'log':
        this.#addLog(event);
        return;
      case 'run.finished':
        this.ended(event.at, event.status);
        return;
    }
  }

  /** A step that was broken off is requested again by the next turn, under the same number: its anchor is the later one's. */
  #renameUnanswered({ step, seq }: Stamped<'model.requested'>): void {
    const at = this.#entries.findLastIndex((entry) => entry.kind === 'step' && entry.step === step);
    const known = this.#entries[at];
    if (known !== undefined) this.#entries[at] = { ...known, id: `${known.id}-before-${seq}` };
  }

  /** The messages of a first turn without user text are those of the prompt, which is already shown. */
  #isPrompt(messages: Stamped<'turn.started'>['messages']): boolean {
    const setup = this.#entries.findLast((entry) => entry.kind === 'setup');
    return (
      messages.length === 0 || setup === undefined || JSON.stringify(setup.event.prompt) === JSON.stringify(messages)
    );
  }

  /** A turn that begins with the reply of its user, which is shown as such. */
  #isTold({ messages: [message, ...others] }: Stamped<'turn.started'>): boolean {
    const last = this.#entries.findLast(({ kind }) => kind !== 'logs');
    return last?.kind === 'user' && others.length === 0 && message?.content === last.event.message;
  }

  #push<Kind extends Entry>(entry: Kind): void {
    this.#entries.push({ ...entry, id: `${this.#prefix}${entry.id}` });
  }

  /** Steps come in their order: the one that is meant is near the end. */
  #updateStep(event: { readonly step: number; readonly turn: number }, change: (step: StepEntry) => StepEntry): void {
    const at = this.#entries.findLastIndex((entry) => entry.kind === 'step' && entry.step === event.step);
    const known = this.#entries[at];
    if (known?.kind === 'step') this.#entries[at] = change(known);
    else this.#push(change(toStep(event)));
  }

  /** A log belongs to the call that runs, else to the step it came after, else to nothing but its place. */
  #addLog(event: Stamped<'log'>): void {
    const log: LogRecord = { at: event.at, level: event.level, logger: event.logger, message: event.message };
    const last = this.#entries.at(-1);
    if (last?.kind === 'step' && last.response !== undefined) {
      this.#entries[this.#entries.length - 1] = withLog(last, log);
    } else if (last?.kind === 'logs') {
      this.#entries[this.#entries.length - 1] = { ...last, logs: [...last.logs, log] };
    } else {
      this.#push({ kind: 'logs', id: `logs-${event.seq}`, logs: [log] });
    }
  }
}

function toStep({ step, turn }: { readonly step: number; readonly turn: number }): StepEntry {
  const nothing = { requestedAt: undefined, request: undefined, response: undefined, calls: [], logs: [] };
  const atSeat = { failure: undefined, differences: [] };
  return { kind: 'step', id: stepName(step).replace(' ', '-'), step, turn, ...nothing, ...atSeat };
}

function toCall(call: Stamped<'model.responded'>['message']['tool_calls'][number]): CallView {
  const { id, name, arguments: given, raw_arguments } = call;
  return { id, name, arguments: given, rawArguments: raw_arguments, calledAt: undefined, result: undefined, logs: [] };
}

/** A model may give two calls of a step one id: each call and each result takes the first that has none. */
function withCall(calls: readonly CallView[], event: Stamped<'tool.called'>): readonly CallView[] {
  const at = calls.findIndex(({ id, calledAt }) => id === event.tool_call_id && calledAt === undefined);
  const call = { ...toCall({ ...event, id: event.tool_call_id }), calledAt: event.at };
  return at === -1 ? [...calls, call] : calls.with(at, call);
}

function withResult(calls: readonly CallView[], event: Stamped<'tool.responded'>): readonly CallView[] {
  const at = calls.findIndex(
    ({ id, calledAt, result }) => id === event.tool_call_id && calledAt !== undefined && result === undefined,
  );
  const call = calls[at];
  return call === undefined ? calls : calls.with(at, { ...call, result: event });
}

function withLog(step: StepEntry, log: LogRecord): StepEntry {
  const at = step.calls.findLastIndex(({ calledAt, result }) => calledAt !== undefined && result === undefined);
  const call = step.calls[at];
  if (call === undefined) return { ...step, logs: [...step.logs, log] };
  return { ...step, calls: step.calls.with(at, { ...call, logs: [...call.logs, log] }) };
}
