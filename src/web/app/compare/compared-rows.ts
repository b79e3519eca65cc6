import type { Entry, StepEntry } from '../trace/timeline.ts';
import { align, type Likeness, SAME } from './align.ts';
import { canonicalJson } from './canonical.ts';

/** Entries that are compared: all but logs and the readiness of the environment. */
export type ComparedEntry = Exclude<Entry, { readonly kind: 'logs' | 'environment' | 'judgement' }>;

/** A verdict is in the evaluation that asked for it. */
const LEFT_OUT: ReadonlySet<Entry['kind']> = new Set(['logs', 'environment', 'judgement']);

/** A row of the comparison: the entry of each run, undefined if a run has none. */
export interface Row {
  /** An anchor: that of the first run which has something here, after its letter. */
  readonly id: string;
  readonly cells: readonly (ComparedEntry | undefined)[];
}

/** By their order on the page. */
export const LETTERS = ['A', 'B', 'C', 'D'] as const;

export function toCompared(entries: readonly Entry[]): readonly ComparedEntry[] {
  const isCompared = (entry: Entry): entry is ComparedEntry => !LEFT_OUT.has(entry.kind);
  return entries.filter(isCompared);
}

/**
 * Runs side by side, each aligned with the first one: steps that made the same calls are put together, then those that
 * called the same tools, then what is left in its order. What only some have gets rows of its own, aligned in the same way.
 */
export function toRows(runs: readonly (readonly ComparedEntry[])[]): readonly Row[] {
  // Numbers, since each is compared with thousands of others.
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

/** An entry with what it is recognised by; the same number stands for the same text. */
interface Marked {
  readonly entry: ComparedEntry;
  /** The names of its calls. */
  readonly names: number;
  /** Its calls with their arguments; of what has none, what it says. */
  readonly signature: number;
}

function alignRuns(runs: readonly (readonly Marked[])[]): readonly (readonly (Marked | undefined)[])[] {
  const first = runs.findIndex((entries) => entries.length > 0);
  const base = runs[first];
  if (base === undefined) return [];
  const sides = runs.map((entries, index) => (index === first ? undefined : besides(base, entries)));
  const rows: (Marked | undefined)[][] = [];
  for (let place = 0; place <= base.length; place++) {
    // Only the others have these: one run less to align.
    rows.push(...alignRuns(sides.map((side) => side?.before[place] ?? [])).map((row) => [...row]));
    if (place < base.length) rows.push(sides.map((side, run) => (run === first ? base[place] : side?.at[place])));
  }
  return rows;
}

/** By the place of the base: what is beside it, and what comes before it without a partner. */
function besides(base: readonly Marked[], entries: readonly Marked[]) {
  const at: (Marked | undefined)[] = [];
  const before: Marked[][] = [];
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

function likenessOf(left: Marked | undefined, right: Marked | undefined): number {
  if (left === undefined || right === undefined || left.entry.kind !== right.entry.kind) return 0;
  if (left.signature === right.signature) return SAME;
  return left.names === right.names ? SAME_TOOLS : SAME_KIND;
}

function toMarked(entry: ComparedEntry, toNumber: (text: string) => number): Marked {
  if (entry.kind === 'step') {
    const signature = entry.calls.length > 0 ? signatureOf(entry) : (entry.response?.message.content ?? '');
    const names = entry.calls.map(({ name }) => name).join('\n');
    return { entry, names: toNumber(names), signature: toNumber(signature) };
  }
  // There is one of each, but of turns and replies of a user.
  const said = entry.kind === 'turn' ? entry.event.messages : entry.kind === 'user' ? entry.event.message : '';
  const signature = said === '' ? '' : canonicalJson(said);
  return { entry, names: toNumber(''), signature: toNumber(signature) };
}

/** Calls of a step. */
function signatureOf({ calls }: StepEntry): string {
  return calls.map((call) => `${call.name}\n${call.rawArguments ?? canonicalJson(call.arguments)}`).join('\n');
}
