import { OUTSIDE_STEPS } from '../../../contract/names.ts';
import type { CallView } from '../trace/timeline.ts';
import { isSameJson } from './canonical.ts';
import { type ComparedEntry, LETTERS } from './compared-rows.ts';
import { type Difference, hasSameArguments, hasSameResult, type JudgedRow, pairCalls } from './differences.ts';

export interface FirstDifference {
  readonly row: JudgedRow;
  /** Name in a sentence: `step 3`, `the prompt`. */
  readonly place: string;
  readonly text: string;
}

/**
 * Finds where runs start to differ in an input, a call or a result. Without such a place, it is the first different
 * text. Undefined if nothing differs.
 */
export function findFirstDifference(rows: readonly JudgedRow[]): FirstDifference | undefined {
  const row =
    rows.find((each) => findActing(each) !== -1) ??
    rows.find(({ differences }) => differences.some(({ size }) => size > 0));
  const known = row?.cells[row.reference];
  if (row === undefined || known === undefined) return undefined;
  const title = titleOf(known).toLowerCase();
  const hasNumber = known.kind === 'step' || known.kind === 'turn';
  return { row, place: hasNumber ? title : `the ${title}`, text: describeRow(row, known) };
}

/** Title of an entry: `Step 3`, `Prompt`, `Answer`. */
export function titleOf(entry: ComparedEntry): string {
  switch (entry.kind) {
    case 'setup':
      return 'Prompt';
    case 'turn':
      return `Turn ${entry.event.turn}`;
    case 'user':
      return 'User';
    case 'step':
      return entry.step === OUTSIDE_STEPS ? 'Calls' : `Step ${entry.step}`;
    case 'answer':
      return 'Answer';
    case 'evaluation':
      return 'Evaluation';
  }
}

/** Names of arguments that differ or are missing in one call. */
function differingArguments(one: CallView, other: CallView): readonly string[] {
  const names = new Set([...Object.keys(one.arguments), ...Object.keys(other.arguments)]);
  return [...names].filter((name) => !isSameJson(one.arguments[name], other.arguments[name]));
}

const ACTS: readonly Difference[] = ['missing', 'calls', 'results'];

/** Index of the first run with a different input or action, not only a different text. */
function findActing({ cells, reference, differences }: JudgedRow): number {
  const isWordsAlone = cells[reference]?.kind === 'step';
  return differences.findIndex((each) => (isWordsAlone ? ACTS.some((act) => each.has(act)) : each.size > 0));
}

function describeRow(row: JudgedRow, known: ComparedEntry): string {
  const acting = findActing(row);
  const at = acting === -1 ? row.differences.findIndex(({ size }) => size > 0) : acting;
  const other = row.cells[at];
  const [one, two] = [LETTERS[row.reference], LETTERS[at]];
  if (other === undefined) {
    const having = LETTERS.filter((_, index) => row.cells[index] !== undefined);
    return `Only ${having.join(' and ')} ${having.length === 1 ? 'has' : 'have'} it${callsOf(known)}.`;
  }
  if (known.kind === 'step' && other.kind === 'step') {
    return (
      describeCalls(pairCalls(known.calls, other.calls), `${one}`, `${two}`) ?? `${one} and ${two} do not say the same.`
    );
  }
  if (known.kind === 'evaluation') return `${one} and ${two} were not evaluated alike.`;
  if (known.kind === 'answer') return `${one} and ${two} did the same, but gave different answers.`;
  return `${one} and ${two} were not told the same.`;
}

function callsOf(entry: ComparedEntry): string {
  return entry.kind === 'step' && entry.calls.length > 0
    ? `: it calls ${entry.calls.map(({ name }) => name).join(', ')}`
    : '';
}

function describeCalls(pairs: ReturnType<typeof pairCalls>, one: string, two: string): string | undefined {
  for (const { known, other } of pairs) {
    if (known === undefined) return `${two} calls ${other?.name}, ${one} does not.`;
    if (other === undefined) return `${one} calls ${known.name}, ${two} does not.`;
    if (known.name !== other.name) return `${one} calls ${known.name}, ${two} calls ${other.name}.`;
    if (!hasSameArguments(known, other)) {
      const names = differingArguments(known, other);
      return `${one} and ${two} both call ${known.name}, but not with the same ${names.length === 0 ? 'arguments' : names.join(', ')}.`;
    }
    if (!hasSameResult(known, other))
      return `${one} and ${two} make the same call of ${known.name}, but its results differ.`;
  }
  return undefined;
}
