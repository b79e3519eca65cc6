import { countText } from '../../../support/text/figures.ts';
import { type Aspect, isDifferent, type JudgedRow } from './differences.ts';

/** A line of the comparison: a row that differs, or a fold of rows that do not. */
export type FoldedPart =
  | { readonly kind: 'row'; readonly row: JudgedRow }
  | { readonly kind: 'same'; readonly id: string; readonly rows: readonly JudgedRow[] };

/** Folds rows without differences. `counted`: the kinds that count. */
export function foldRows(rows: readonly JudgedRow[], counted: ReadonlySet<Aspect>): readonly FoldedPart[] {
  const parts: FoldedPart[] = [];
  let same: JudgedRow[] = [];
  for (const row of rows) {
    if (isDifferent(row, counted)) {
      parts.push({ kind: 'row', row });
      same = [];
      continue;
    }
    if (same.length === 0) parts.push({ kind: 'same', id: `same-${row.id}`, rows: same });
    same.push(row);
  }
  return parts;
}

/** `The same prompt, 5 equal steps`. */
export function describeSame(rows: readonly JudgedRow[]): string {
  const kinds = rows.map(({ cells, reference }) => cells[reference]?.kind);
  const count = (kind: string) => kinds.filter((each) => each === kind).length;
  const [steps, turns] = [count('step'), count('turn')];
  const text = [
    kinds.includes('setup') ? 'the same prompt' : '',
    turns === 0 ? '' : countText(turns, 'equal message'),
    steps === 0 ? '' : countText(steps, 'equal step'),
    kinds.includes('answer') ? 'the same answer' : '',
    kinds.includes('evaluation') ? 'the same evaluation' : '',
  ]
    .filter((part) => part !== '')
    .join(', ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
