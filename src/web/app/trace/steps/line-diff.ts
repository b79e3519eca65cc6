import { diffArrays } from 'diff';

/** A line of a comparison. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Beyond it lines are not compared one by one: the old ones go, the new ones come. */
const MOST_CHANGES = 1_000;

/** The lines to remove and add to get from one text to the other. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  return diffParts(toLines(before), toLines(after));
}

/** The same of texts that are cut already, into words for example. */
export function diffParts(old: readonly string[], fresh: readonly string[]): readonly DiffLine[] {
  const changes = diffArrays([...old], [...fresh], { maxEditLength: MOST_CHANGES });
  if (changes === undefined) return [...toDiff('removed', old), ...toDiff('added', fresh)];
  return changes.flatMap(({ added, removed, value }) => toDiff(added ? 'added' : removed ? 'removed' : 'same', value));
}

/** The lines of a patch in the unified form, as they are. */
export function readPatch(patch: string): readonly DiffLine[] {
  return toLines(patch).map((text) => {
    const kind = /^\+(?!\+\+ )/.test(text) ? 'added' : /^-(?!-- )/.test(text) ? 'removed' : 'same';
    return { kind, text: kind === 'same' ? text : text.slice(1) };
  });
}

function toDiff(kind: DiffLine['kind'], lines: readonly string[]): readonly DiffLine[] {
  return lines.map((text) => ({ kind, text }));
}

function toLines(text: string): readonly string[] {
  return text === '' ? [] : text.split('\n');
}
