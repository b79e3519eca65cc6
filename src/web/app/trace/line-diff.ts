/** A line of a comparison. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Beyond it lines are not compared one by one: the old ones go, the new ones come. */
const MOST_CELLS = 1_000_000;

/** The lines to remove and add to get from one text to the other. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  return diffParts(toLines(before), toLines(after));
}

/** The same of texts that are cut already, into words for example. */
export function diffParts(old: readonly string[], fresh: readonly string[]): readonly DiffLine[] {
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start++;
  let end = 0;
  while (end < old.length - start && end < fresh.length - start && old.at(-1 - end) === fresh.at(-1 - end)) end++;
  const middle = diffMiddle(old.slice(start, old.length - end), fresh.slice(start, fresh.length - end));
  return [...toDiff('same', old.slice(0, start)), ...middle, ...toDiff('same', old.slice(old.length - end))];
}

/** By the longest common subsequence. */
function diffMiddle(old: readonly string[], fresh: readonly string[]): readonly DiffLine[] {
  if (old.length * fresh.length > MOST_CELLS) return [...toDiff('removed', old), ...toDiff('added', fresh)];
  const width = fresh.length + 1;
  const common = new Uint32Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      const at = i * width + j;
      common[at] =
        old[i] === fresh[j]
          ? (common[at + width + 1] ?? 0) + 1
          : Math.max(common[at + width] ?? 0, common[at + 1] ?? 0);
    }
  }
  const lines: DiffLine[] = [];
  for (let i = 0, j = 0; i < old.length || j < fresh.length; ) {
    const at = i * width + j;
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      lines.push({ kind: 'same', text: old[i] ?? '' });
      i++;
      j++;
    } else if (i < old.length && (j >= fresh.length || (common[at + width] ?? 0) >= (common[at + 1] ?? 0))) {
      lines.push({ kind: 'removed', text: old[i++] ?? '' });
    } else {
      lines.push({ kind: 'added', text: fresh[j++] ?? '' });
    }
  }
  return lines;
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
