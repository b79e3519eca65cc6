import type { Entry, StepEntry } from '../trace/timeline.ts';
import { align, type Likeness, SAME } from './align.ts';
import { canonicalJson } from './canonical.ts';

/** Entries that are compared: all except logs, the start of the environment, and verdicts. */
export type ComparedEntry = Exclude<Entry, { readonly kind: 'logs' | 'environment' | 'judgement' }>;

/** Kinds that are not compared. A verdict is already part of its evaluation. */
const LEFT_OUT: ReadonlySet<Entry['kind']> = new Set(['logs', 'environment', 'judgement']);

/** A row of the comparison: the entry of each run, undefined if a run has none. */
export interface Row {
  /** Anchor of the row: letter and anchor of the first run with an entry here. */
  readonly id: string;
  readonly cells: readonly (ComparedEntry | undefined)[];
}

/** Letters of the runs in page order. */
export const LETTERS = ['A', 'B', 'C', 'D'] as const;

export function toCompared(entries: readonly Entry[]): readonly ComparedEntry[] {
  const isCompared = (entry: Entry): entry is ComparedEntry => !LEFT_OUT.has(entry.kind);
  return entries.filter(isCompared);
}

/**
 * Aligns each run with the first one. Steps with the same calls are paired first, then steps with the same tools, then
 * the rest in order. Entries that the first run lacks get rows of their own, aligned in the same way.
 */
export function toRows(runs: readonly (readonly ComparedEntry[])[]): readonly Row[] {
  // Numbers replace texts, since each is compared thousands of times.
  const numbers = new Map<string, number>();
  const toNumber = (text: string) => {
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    return number;
  };
  const marked = runs.map((entries) => entries.map((entry) => toMarked(entry, toNumber)));
  return alignRuns(marked).map((row) => {
    const cells = row.map((each) => each?.entry);
    const first = cells.findIndex((cell) => cell !== undefined);
    return { id: `${LETTERS[first]?.toLowerCase()}-${cells[first]?.id}`, cells };
  });
}

/** An entry with numbers for comparison. Equal texts have equal numbers. */
interface NumberedEntry {
  readonly entry: ComparedEntry;
  /** Number for the names of its calls. */
  readonly names: number;
  /** Number for its calls with arguments; for an entry without calls, for its text. */
  readonly signature: number;
}

function alignRuns(runs: readonly (readonly NumberedEntry[])[]): readonly (readonly (NumberedEntry | undefined)[])[] {
  const first = runs.findIndex((entries) => entries.length > 0);
  const base = runs[first];
  if (base === undefined) return [];
  const sides = runs.map((entries, index) => (index === first ? undefined : besides(base, entries)));
  const rows: (NumberedEntry | undefined)[][] = [];
  for (let place = 0; place <= base.length; place++) {
    // The first run has no entry here, so only the other runs are aligned.
    rows.push(...alignRuns(sides.map((side) => side?.before[place] ?? [])).map((row) => [...row]));
    if (place < base.length) rows.push(sides.map((side, run) => (run === first ? base[place] : side?.at[place])));
  }
  return rows;
}

/** Groups entries by their partner in the base: the partner itself, and those before it without one. */
function besides(base: readonly NumberedEntry[], entries: readonly NumberedEntry[]) {
  const at: (NumberedEntry | undefined)[] = [];
  const before: NumberedEntry[][] = [];
  const likeness: Likeness = (left, right) => likenessOf(base[left], entries[right]);
  let place = 0;
  for (const { left, right } of align(base.length, entries.length, likeness)) {
    const entry = right === undefined ? undefined : entries[right];
    if (left !== undefined) {
      at[left] = entry;
      place = left + 1;
    } else if (entry !== undefined) {
      before[place] ??= [];
      before[place]?.push(entry);
    }
  }
  return { at, before };
}

const SAME_TOOLS = 3;
const SAME_KIND = 1;

function likenessOf(left: NumberedEntry | undefined, right: NumberedEntry | undefined): number {
  if (left === undefined || right === undefined || left.entry.kind !== right.entry.kind) return 0;
  if (left.signature === right.signature) return SAME;
  return left.names === right.names ? SAME_TOOLS : SAME_KIND;
}

function toMarked(entry: ComparedEntry, toNumber: (text: string) => number): NumberedEntry {
  if (entry.kind === 'step') {
    const signature = entry.calls.length > 0 ? signatureOf(entry) : (entry.response?.message.content ?? '');
    const names = entry.calls.map(({ name }) => name).join('\n');
    return { entry, names: toNumber(names), signature: toNumber(signature) };
  }
  // Each kind occurs once, except turns and replies of a user.
  const said = entry.kind === 'turn' ? entry.event.messages : entry.kind === 'user' ? entry.event.message : '';
  const signature = said === '' ? '' : canonicalJson(said);
  return { entry, names: toNumber(''), signature: toNumber(signature) };
}

/** Text for the calls of a step. */
function signatureOf({ calls }: StepEntry): string {
  return calls.map((call) => `${call.name}\n${call.rawArguments ?? canonicalJson(call.arguments)}`).join('\n');
}
