export interface GridPlace {
  readonly row: number;
  readonly column: number;
}

interface GridSize {
  readonly rows: number;
  readonly columns: number;
  /** Rows that a page key goes over. */
  readonly page: number;
}

/** Where a key leads in a grid; undefined for one that is not for it. */
export function moveTo(
  { key, ctrlKey, metaKey, altKey }: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>,
  { row, column }: GridPlace,
  { rows, columns, page }: GridSize,
): GridPlace | undefined {
  if (altKey || metaKey || rows === 0) return undefined;
  const at = (toRow: number, toColumn: number) => ({
    row: Math.min(rows - 1, Math.max(0, toRow)),
    column: Math.min(columns - 1, Math.max(0, toColumn)),
  });
  switch (key) {
    case 'ArrowDown':
      return at(row + 1, column);
    case 'ArrowUp':
      return at(row - 1, column);
    case 'ArrowRight':
      return at(row, column + 1);
    case 'ArrowLeft':
      return at(row, column - 1);
    case 'PageDown':
      return at(row + page, column);
    case 'PageUp':
      return at(row - page, column);
    case 'Home':
      return ctrlKey ? at(0, 0) : at(row, 0);
    case 'End':
      return ctrlKey ? at(rows - 1, columns - 1) : at(row, columns - 1);
    default:
      return undefined;
  }
}
