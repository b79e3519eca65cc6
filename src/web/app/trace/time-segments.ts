import { OUTSIDE_STEPS } from '../../../contract/names.ts';
import { type AttemptView, type Entry, stepName } from './timeline.ts';

export type Phase = 'environment' | 'setup' | 'model' | 'tools' | 'evaluation';

/** Where time went, as a share of the bar: `start` and `width` are from 0 to 1. */
export interface Segment {
  readonly phase: Phase;
  readonly start: number;
  readonly width: number;
  /** Anchor of the entry that it leads to. */
  readonly entryId: string | undefined;
  readonly label: string;
  readonly ms: number;
}

interface Span {
  readonly phase: Phase;
  readonly from: number;
  readonly to: number;
  readonly entryId: string | undefined;
  readonly label: string;
}

/** A pause in which nothing ran, such as that of a person in a chat, is drawn as this share of the whole at most. */
const LONGEST_PAUSE = 0.02;
/** Narrower than this nothing can be seen or hit: neighbours of one phase are drawn as one. */
const NARROWEST = 1 / 1_200;

/** The time bar of a run, without its time in the queue. Parallel calls share their time: the bar is as long as something ran. */
export function toSegments(attempts: readonly AttemptView[]): readonly Segment[] {
  const spans = attempts.flatMap(toSpans).sort((a, b) => a.from - b.from);
  const busyMs = sumOfUnion(spans);
  if (busyMs <= 0) return [];
  const pauseMs = busyMs * LONGEST_PAUSE;
  const placed: (Span & { readonly start: number; readonly ms: number })[] = [];
  let place = 0;
  let end = spans[0]?.from ?? 0;
  for (const span of spans) {
    place += Math.min(Math.max(0, span.from - end), pauseMs);
    const ms = Math.max(0, span.to - Math.max(span.from, end));
    if (ms > 0) placed.push({ ...span, start: place, ms });
    place += ms;
    end = Math.max(end, span.to);
  }
  return merge(placed.map((span) => ({ ...span, start: span.start / place, width: span.ms / place })));
}

/** Milliseconds of a phase in which something was begun that never came to its end: no duration of the trace holds them. */
export function unfinishedMs(attempt: AttemptView | undefined, phase: Phase): number {
  if (attempt === undefined) return 0;
  return sumOfUnion(unfinishedSpans(attempt).filter((span) => span.phase === phase));
}

/** The last wait of an attempt that ended in it: often the only explanation of its time. */
function unfinishedSpans({ entries, endedAt }: AttemptView): readonly Span[] {
  if (endedAt === undefined) return [];
  return entries.flatMap((entry, index): readonly Span[] => {
    if (entry.kind !== 'step') return [];
    const { id, step, response, requestedAt, calls } = entry;
    const to =
      entries
        .slice(index + 1)
        .map(beganAt)
        .find((at) => at !== undefined) ?? Date.parse(endedAt);
    const span = (phase: Phase, from: string, label: string): readonly Span[] => {
      const begun = Date.parse(from);
      return to > begun ? [{ phase, from: begun, to, entryId: id, label }] : [];
    };
    if (response === undefined && step !== OUTSIDE_STEPS)
      return requestedAt === undefined
        ? []
        : span('model', requestedAt, `${stepName(step)}: model, which never answered`);
    return calls.flatMap(({ name, calledAt, result }) =>
      calledAt === undefined || result !== undefined
        ? []
        : span('tools', calledAt, `${stepName(step)}: ${name}, without a result`),
    );
  });
}

/** Undefined for what was only written down, such as logs: it may have been written while the step went on. */
function beganAt(entry: Entry): number | undefined {
  switch (entry.kind) {
    case 'step':
      return entry.requestedAt === undefined ? undefined : Date.parse(entry.requestedAt);
    case 'turn':
    case 'answer':
      return Date.parse(entry.event.at);
    case 'user':
    case 'judgement':
    case 'evaluation':
      return before(entry.event).from;
    default:
      return undefined;
  }
}

function merge(segments: readonly Segment[]): readonly Segment[] {
  const merged: Segment[] = [];
  for (const segment of segments) {
    const last = merged.at(-1);
    const isNarrow = last !== undefined && (last.width < NARROWEST || segment.width < NARROWEST);
    if (last === undefined || !isNarrow || segment.start - last.start > 4 * NARROWEST) {
      merged.push(segment);
      continue;
    }
    // Where many are too narrow, the longest of them gives the colour and the way.
    const longer = segment.width > last.width ? segment : last;
    merged[merged.length - 1] = {
      ...longer,
      start: last.start,
      width: segment.start + segment.width - last.start,
      ms: last.ms + segment.ms,
    };
  }
  return merged;
}

function toSpans(attempt: AttemptView): readonly Span[] {
  return [...attempt.entries.flatMap(spansOf), ...unfinishedSpans(attempt)];
}

function spansOf(entry: Entry): readonly Span[] {
  switch (entry.kind) {
    case 'environment':
      return [{ phase: 'environment', ...before(entry.event), entryId: entry.id, label: 'environment' }];
    case 'setup':
      return [{ phase: 'setup', ...before(entry.event), entryId: entry.id, label: 'setup' }];
    case 'evaluation':
      return [{ phase: 'evaluation', ...before(entry.event), entryId: entry.id, label: 'evaluation' }];
    case 'step': {
      const { response, step, calls, id } = entry;
      const model: readonly Span[] =
        response === undefined
          ? []
          : [{ phase: 'model', ...before(response), entryId: id, label: `${stepName(step)}: model` }];
      const tools = calls.flatMap(({ name, result }): readonly Span[] =>
        result === undefined
          ? []
          : [{ phase: 'tools', ...before(result), entryId: id, label: `${stepName(step)}: ${name}` }],
      );
      return [...model, ...tools];
    }
    default:
      return [];
  }
}

function before({ at, duration_ms }: { readonly at: string; readonly duration_ms: number }) {
  const to = Date.parse(at);
  return { from: to - duration_ms, to };
}

/** Spans sorted by their start. */
function sumOfUnion(spans: readonly Span[]): number {
  let sum = 0;
  let end = Number.NEGATIVE_INFINITY;
  for (const { from, to } of spans) {
    sum += Math.max(0, to - Math.max(from, end));
    end = Math.max(end, to);
  }
  return sum;
}
