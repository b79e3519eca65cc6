import type { CallView, StepEntry } from '../trace/timeline.ts';
import { align, SAME } from './align.ts';
import { isSameJson } from './canonical.ts';
import type { ComparedEntry, Row } from './compared-rows.ts';

/** Kinds of differences. The page chooses which of them count. */
export const ASPECTS = ['calls', 'results', 'text', 'reasoning'] as const;
export type Aspect = (typeof ASPECTS)[number];
/** `missing`: the run has no entry in this row. */
export type Difference = Aspect | 'missing';

/** A row with the differences of each cell to its reference. */
export interface JudgedRow extends Row {
  /** Index of the cell that the others are compared with. */
  readonly reference: number;
  readonly differences: readonly ReadonlySet<Difference>[];
}

export function judge(row: Row): JudgedRow {
  const reference = row.cells.findIndex((cell) => cell !== undefined);
  const known = row.cells[reference];
  const differences = row.cells.map((cell, index) =>
    known === undefined || index === reference ? NONE : differencesOf(known, cell),
  );
  return { ...row, reference, differences };
}

/** True if the row has a difference that counts. */
export function isDifferent({ differences }: JudgedRow, counted: ReadonlySet<Aspect>): boolean {
  return differences.some((each) => [...each].some((kind) => kind === 'missing' || counted.has(kind)));
}

/** Aligns the calls of two steps by the same rule as steps. */
export function pairCalls(known: readonly CallView[], other: readonly CallView[]) {
  return align(known.length, other.length, (left, right) => {
    const [one, two] = [known[left], other[right]];
    if (one === undefined || two === undefined) return 0;
    if (one.name !== two.name) return 1;
    return hasSameArguments(one, two) ? SAME : 3;
  }).map(({ left, right }) => ({
    known: left === undefined ? undefined : known[left],
    other: right === undefined ? undefined : other[right],
  }));
}

export function hasSameArguments(one: CallView, other: CallView): boolean {
  return one.rawArguments === other.rawArguments && isSameJson(one.arguments, other.arguments);
}

/** True if both results are equal or both are missing. Durations are ignored. */
export function hasSameResult({ result: one }: CallView, { result: other }: CallView): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (
    one.is_error === other.is_error &&
    isSameJson(one.content, other.content) &&
    isSameJson(one.structured_content, other.structured_content)
  );
}

const NONE: ReadonlySet<Difference> = new Set();
const MISSING: ReadonlySet<Difference> = new Set(['missing']);

function differencesOf(known: ComparedEntry, other: ComparedEntry | undefined): ReadonlySet<Difference> {
  if (other === undefined) return MISSING;
  if (known.kind === 'step') return other.kind === 'step' ? stepDifferences(known, other) : MISSING;
  if (other.kind !== 'step' && isSameJson(essence(known), essence(other))) return NONE;
  return new Set([known.kind === 'evaluation' ? 'results' : 'text']);
}

function stepDifferences(known: StepEntry, other: StepEntry): ReadonlySet<Difference> {
  const found = new Set<Difference>();
  const [one, two] = [known.response?.message, other.response?.message];
  if ((one?.content ?? '') !== (two?.content ?? '') || (one?.refusal ?? '') !== (two?.refusal ?? '')) found.add('text');
  if ((one?.reasoning ?? '') !== (two?.reasoning ?? '')) found.add('reasoning');
  for (const pair of pairCalls(known.calls, other.calls)) {
    if (pair.known === undefined || pair.other === undefined) found.add('calls');
    else if (pair.known.name !== pair.other.name) found.add('calls');
    else {
      if (!hasSameArguments(pair.known, pair.other)) found.add('calls');
      if (!hasSameResult(pair.known, pair.other)) found.add('results');
    }
  }
  return found.size === 0 ? NONE : found;
}

/** The compared part of an entry, without time and duration. */
function essence(entry: Exclude<ComparedEntry, StepEntry>): unknown {
  switch (entry.kind) {
    case 'setup': {
      const { system, prompt, tools, answer_schema } = entry.event;
      return [system, prompt, tools, answer_schema];
    }
    case 'turn':
      return entry.event.messages;
    case 'user':
      return [entry.event.message, entry.event.is_over];
    case 'answer':
      return entry.event.answer;
    case 'evaluation':
      return entry.event.evaluation;
  }
}
