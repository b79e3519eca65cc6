import { z } from 'zod';
import type { TraceQuery, TraceStore } from '../../src/store/traces/trace-store.ts';

const PAGES_BEFORE = 9;
const PAGE = 50;
/** Halvings of the time between the oldest and the newest trace, by which the last page is found. */
const MAX_HALVINGS = 60;
const EARLIEST_AT = Date.parse('2026-01-01T00:00:00Z');
const LATEST_AT = Date.parse('2026-07-02T00:00:00Z');

const cursorSchema = z.tuple([z.string(), z.number().nullable(), z.int(), z.string()]);

/** The query of the tenth page, by the cursors of those before. Undefined where there are fewer. */
export async function tenthPage(store: TraceStore, query: TraceQuery): Promise<TraceQuery | undefined> {
  let page = query;
  for (let left = PAGES_BEFORE; left > 0; left--) {
    const { nextCursor } = await store.list(page);
    if (nextCursor === null) return undefined;
    page = { ...query, cursor: nextCursor };
  }
  return page;
}

/**
 * The query of a last page. Walking there would take twenty thousand pages, so that a cursor is made that names a time
 * after which some, but not more than a page, are left. Undefined where the first page is the last.
 */
export async function lastPage(store: TraceStore, query: TraceQuery): Promise<TraceQuery | undefined> {
  const { nextCursor } = await store.list(query);
  if (nextCursor === null) return undefined;
  const [list] = cursorSchema.parse(JSON.parse(Buffer.from(nextCursor, 'base64url').toString()));
  let [from, to] = [EARLIEST_AT, LATEST_AT];
  for (let halvings = 0; halvings < MAX_HALVINGS && from < to; halvings++) {
    const at = Math.floor((from + to) / 2);
    // In the part without the sorted value, which comes last.
    const value = query.sort === undefined || query.sort === 'created_at' ? at : null;
    const cursor = Buffer.from(JSON.stringify([list, value, at, ''])).toString('base64url');
    const page = { ...query, cursor };
    const { data, nextCursor: next } = await store.list(page);
    if (next === null && data.length > 0 && data.length <= PAGE) return page;
    if (data.length === 0) from = at + 1;
    else to = at;
  }
  throw new Error(`no last page was found for ${JSON.stringify(query)}`);
}
