/** Roles of a grid that draws the rows that are seen: a table has to have all of its rows. */
export const ROW_GROUP = { role: 'rowgroup' } as const;
export const COLUMN_HEADER = { role: 'columnheader' } as const;
export const ROW_HEADER = { role: 'rowheader' } as const;
export const CELL = { role: 'gridcell' } as const;

/** A row by its place among all, from 1. */
export function rowAt(index: number) {
  return { role: 'row', 'aria-rowindex': index } as const;
}
