import { MOST_COMPARED, toTraceIds } from '../compare/compare-path.ts';

/** The name in the address under which the runs stand that are selected to be compared. */
export const SELECTION = 'compare';

/** The selected runs in the order of their selection; those that are too many are left out. */
export function toSelection(query: URLSearchParams): readonly string[] {
  return toTraceIds(query.get(SELECTION)).slice(0, MOST_COMPARED);
}

/** The same address, on the same page of the list, with other runs selected. */
export function withSelection(query: URLSearchParams, traceIds: readonly string[]): string {
  const changed = new URLSearchParams(query);
  if (traceIds.length === 0) changed.delete(SELECTION);
  else changed.set(SELECTION, traceIds.join(','));
  return changed.size === 0 ? location.pathname : `?${changed}`;
}

/** The list with nothing left out of it. What is selected stays so. */
export function withoutFilters(query: URLSearchParams): string {
  const selected = toSelection(query);
  return selected.length === 0 ? location.pathname : `?${SELECTION}=${selected.join(',')}`;
}
