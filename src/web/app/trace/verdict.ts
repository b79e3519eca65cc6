import { OUTSIDE_STEPS } from '../../../contract/names.ts';
import type { StopReason, TraceSummary } from '../../../contract/service/trace.ts';
import { countText, grouped, rewardText } from '../../../support/text/figures.ts';
import { preview } from '../../format.ts';
import { type AttemptView, type CallView, type StepEntry, stepName } from './timeline.ts';

/** Something in the run that may explain how it ended, and where it is. */
export interface Finding {
  readonly text: string;
  readonly places: readonly { readonly entryId: string; readonly label: string }[];
  readonly isBad: boolean;
}

/** How a run ended, or what it is at, in words: what a person wants to know before anything else. */
export interface Verdict {
  readonly tone: 'good' | 'fair' | 'bad' | 'quiet' | 'live';
  readonly title: string;
  /** In the words of who decided it: an error's message, or what the evaluation says. */
  readonly detail: string | null;
  /** Parts of an error. */
  readonly code: string | null;
  readonly findings: readonly Finding[];
}

/** Places that are named of one finding. */
const MOST_PLACES = 6;
/** The same call with the same arguments, as often as this, looks like a loop. */
const LOOP_CALLS = 3;
/** Characters of an answer, and of what an evaluation has noted. */
const MOST_ANSWER = 240;
const MOST_INFO = 300;

export function toVerdict(trace: TraceSummary, attempts: readonly AttemptView[]): Verdict {
  const last = attempts.at(-1);
  const steps = (last?.entries ?? []).filter((entry) => entry.kind === 'step');
  const findings = [...attemptFindings(attempts), ...stepFindings(steps)];
  if (trace.finished_at === null) return { ...liveVerdict(trace, last, steps), findings };
  if (trace.error !== null) {
    const { boundary, code, message } = trace.error;
    return {
      tone: 'bad',
      // With a step, its setup went well: it is the solution that does not work.
      title: `Failed ${boundary === 'setup' && steps.length > 0 ? 'in the solution of the scenario' : PLACES[boundary]}`,
      detail: message,
      code,
      findings: [...lastStep(steps), ...findings],
    };
  }
  if (trace.status === 'cancelled') {
    return { tone: 'quiet', title: sentenceOf(trace) ?? 'Cancelled', detail: null, code: null, findings };
  }
  const stop = trace.stop_reason !== null && CUT_SHORT.has(trace.stop_reason) ? lastStep(steps) : [];
  return { ...completedVerdict(trace), findings: [...stop, ...answerFindings(trace, steps), ...findings] };
}

function completedVerdict(trace: TraceSummary): Omit<Verdict, 'findings'> {
  const { reward, evaluation } = trace;
  const detail = evaluation?.content ?? null;
  const stopped = sentenceOf(trace);
  if (reward === null) return { tone: 'quiet', title: stopped ?? 'Ended without a reward', detail, code: null };
  if (reward >= 1) return { tone: 'good', title: stopped ?? 'Passed', detail, code: null };
  const tone = reward > 0 ? 'fair' : 'bad';
  return { tone, title: stopped ?? `Not passed: the evaluation gave ${rewardText(reward)}`, detail, code: null };
}

function liveVerdict(
  trace: TraceSummary,
  attempt: AttemptView | undefined,
  steps: readonly StepEntry[],
): Omit<Verdict, 'findings'> {
  const live = { tone: 'live', detail: null, code: null } as const;
  if (trace.status === 'queued') return { ...live, title: 'Waiting for a worker' };
  const step = steps.at(-1);
  const running = step?.calls.find(({ calledAt, result }) => calledAt !== undefined && result === undefined);
  if (attempt?.entries.some(({ kind }) => kind === 'answer')) return { ...live, title: 'The evaluation is running' };
  if (trace.origin === 'agent' && attempt?.entries.some(({ kind }) => kind === 'setup') === true) {
    return { ...live, title: 'The seat is open: an agent can call its tools' };
  }
  if (step === undefined) {
    const isReady = attempt?.entries.some(({ kind }) => kind === 'environment') === true;
    return { ...live, title: isReady ? 'The scenario is being set up' : 'The environment is starting' };
  }
  if (running !== undefined) return { ...live, title: `Step ${step.step}: ${running.name} is running` };
  if (step.response === undefined) return { ...live, title: `Step ${step.step}: the model is answering` };
  return { ...live, title: trace.origin === 'chat' ? 'The session waits for its next message' : 'The run goes on' };
}

const PLACES: Readonly<Record<NonNullable<TraceSummary['error']>['boundary'], string>> = {
  environment: 'in the environment',
  setup: 'in the setup of the scenario',
  model: 'at the model',
  tool: 'in a tool',
  evaluate: 'in the evaluation',
  worker: 'in the worker',
  agent: 'at the agent',
};

/** Ends that the model did not choose: what it was at says more than its answer. */
const CUT_SHORT: ReadonlySet<StopReason> = new Set(['max_steps', 'length', 'timeout']);

const SUBMITTED = 'what it had said last was evaluated';

const SENTENCES: { readonly [Reason in StopReason]?: (trace: TraceSummary) => string } = {
  max_steps: ({ max_steps }) => `Out of steps: no answer after all ${grouped(max_steps)} of them; ${SUBMITTED}`,
  length: () => `Out of tokens: the model reached its limit; ${SUBMITTED}`,
  timeout: () => `Out of time: no answer before the run had to end; ${SUBMITTED}`,
  cancelled: () => 'Cancelled; it was not evaluated',
  expired: () => `The session was idle for too long; ${SUBMITTED}`,
  abandoned: () => 'The session was abandoned; it was not evaluated',
};

function sentenceOf(trace: TraceSummary): string | undefined {
  return trace.stop_reason === null ? undefined : SENTENCES[trace.stop_reason]?.(trace);
}

function answerFindings(trace: TraceSummary, steps: readonly StepEntry[]): readonly Finding[] {
  if (trace.reward === null || trace.reward >= 1) return [];
  const findings: Finding[] = [];
  if (trace.answer === '' || trace.answer === null) {
    const text = trace.answer === null ? 'No answer was submitted' : 'The answer that was submitted is empty';
    findings.push({ text, places: [{ entryId: 'answer', label: 'answer' }], isBad: true });
  } else {
    const text = `It answered “${preview(trace.answer, MOST_ANSWER)}”`;
    findings.push({ text, places: [{ entryId: 'answer', label: 'answer' }], isBad: false });
  }
  findings.push(...unsaidFindings(trace));
  const hasCalls = steps.some(({ calls }) => calls.length > 0);
  if (!hasCalls && trace.tools.length > 0) {
    const text = `No tool was called, of ${countText(trace.tools.length, 'tool')} on offer`;
    findings.push({ text, places: [], isBad: true });
  }
  return findings;
}

/** Notes of an evaluation that has no text. */
function unsaidFindings({ evaluation }: TraceSummary): readonly Finding[] {
  if (evaluation === null || evaluation.content) return [];
  const places = [{ entryId: 'evaluation', label: 'evaluation' }];
  if (Object.keys(evaluation.info).length > 0) {
    return [{ text: `The evaluation noted ${preview(evaluation.info, MOST_INFO)}`, places, isBad: false }];
  }
  if (evaluation.subscores.length > 0) return [];
  return [{ text: 'The evaluation does not say why', places, isBad: false }];
}

function attemptFindings(attempts: readonly AttemptView[]): readonly Finding[] {
  return attempts.slice(0, -1).map(({ attempt, end, entries, worker, lossError }) => {
    const steps = entries.filter(({ kind }) => kind === 'step').length;
    const by = worker === undefined ? '' : ` (${worker})`;
    const why = lossError === null ? '' : `. ${preview(lossError.message, MOST_INFO)}`;
    return {
      text: `Attempt ${attempt} was ${end ?? 'ended'} after ${countText(steps, 'step')}${by}: it began anew${why}`,
      places: [{ entryId: `attempt-${attempt}`, label: `attempt ${attempt}` }],
      isBad: false,
    };
  });
}

function lastStep(steps: readonly StepEntry[]): readonly Finding[] {
  const step = steps.at(-1);
  if (step === undefined) return [];
  const open = step.calls.find(({ calledAt, result }) => calledAt !== undefined && result === undefined);
  const what =
    open !== undefined
      ? `${open.name} had no result yet`
      : step.response === undefined && step.step !== OUTSIDE_STEPS
        ? 'the model had not answered'
        : '';
  return [
    {
      text: what === '' ? 'It came as far as' : `When it ended, ${what}:`,
      places: [toPlace(step)],
      isBad: what !== '',
    },
  ];
}

function stepFindings(steps: readonly StepEntry[]): readonly Finding[] {
  const failed = steps.filter(({ calls }) => calls.some(({ result }) => result?.is_error === true));
  const unread = steps.filter(({ calls }) => calls.some(({ rawArguments }) => rawArguments !== null));
  const refused = steps.filter(
    ({ response }) => Boolean(response?.message.refusal) || response?.finish_reason === 'content_filter',
  );
  const cut = steps.filter(({ response }) => response?.finish_reason === 'length');
  const retried = steps.filter(({ response }) => (response?.retries ?? 0) > 0);
  const failedCalls = failed.flatMap(({ calls }) => calls.filter(({ result }) => result?.is_error === true));
  return [
    ...finding(failed, `${countText(failedCalls.length, 'tool call')} failed${describeLast(failedCalls)}`, true),
    ...finding(unread, 'Arguments that are not a JSON object', true),
    ...finding(refused, 'The model refused', true),
    ...finding(cut, 'The model was cut off by its limit of tokens', true),
    ...loopFinding(steps),
    ...finding(retried, 'The gateway answered only after a retry, which has no effect on the reward', false),
  ];
}

function describeLast(calls: readonly CallView[]): string {
  const last = calls.at(-1);
  const text = last?.result?.content.find(({ type }) => type === 'text')?.text;
  return last === undefined || typeof text !== 'string' ? '' : `; the last, ${last.name}, says “${preview(text, 140)}”`;
}

/** A model that makes no headway calls the same again and again. */
function loopFinding(steps: readonly StepEntry[]): readonly Finding[] {
  const seen = new Map<string, { readonly name: string; readonly steps: StepEntry[] }>();
  for (const step of steps) {
    for (const { name, arguments: given } of step.calls) {
      const key = `${name} ${JSON.stringify(given)}`;
      const known = seen.get(key);
      if (known === undefined) seen.set(key, { name, steps: [step] });
      else known.steps.push(step);
    }
  }
  const most = [...seen.values()].sort((a, b) => b.steps.length - a.steps.length)[0];
  if (most === undefined || most.steps.length < LOOP_CALLS) return [];
  return finding(
    most.steps,
    `${most.name} was called ${grouped(most.steps.length)} times with the same arguments`,
    false,
  );
}

function finding(steps: readonly StepEntry[], text: string, isBad: boolean): readonly Finding[] {
  if (steps.length === 0) return [];
  const unique = [...new Set(steps)];
  // The first ones say how it began, the last one how it ended.
  const named = unique.length <= MOST_PLACES ? unique : [...unique.slice(0, MOST_PLACES - 1), ...unique.slice(-1)];
  return [{ text, places: named.map(toPlace), isBad }];
}

function toPlace({ id, step }: StepEntry) {
  return { entryId: id, label: stepName(step) };
}
