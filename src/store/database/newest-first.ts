import { type SelectQueryBuilder, sql } from 'kysely';
import { z } from 'zod';
import { type PageLimit, parsePageCursor, parsePageLimit, toPageCursor } from './page-cursor.ts';
import type { DatabaseSchema } from './tables/schema.ts';

export interface ListQuery {
  /** 1 to 100, default 50. */
  readonly limit?: number | undefined;
  /** The `next_cursor` of the previous page. */
  readonly cursor?: string | undefined;
}

/** Limits of the rows on a page. */
export const LIST_LIMIT: PageLimit = { default: 50, minimum: 1, maximum: 100 };

export interface ListPage<Row> {
  readonly rows: readonly Row[];
  /** The cursor after `shown` rows of the page, by default after all. Null when no row follows. */
  nextCursor(shown?: number): string | null;
}

const positionSchema = z.tuple([z.int(), z.string()]);

/**
 * One page of rows, newest first. Rows of the same millisecond are sorted by id.
 *
 * @param rows all rows of the list.
 * @param list identifies the list: its name, account and filters.
 * @throws ApiError invalid_parameter for a bad limit, or a cursor of another list.
 */
export async function readNewestFirst<
  Table extends keyof DatabaseSchema,
  Id extends string,
  Row extends { created_at: number } & Record<Id, string>,
>(
  rows: SelectQueryBuilder<DatabaseSchema, Table, Row>,
  { id, list, query }: { readonly id: Id; readonly list: unknown; readonly query: ListQuery },
): Promise<ListPage<Row>> {
  const limit = parsePageLimit(query.limit, LIST_LIMIT);
  const [createdAt, idColumn] = [sql.ref('created_at'), sql.ref(id)];
  let listed = rows;
  if (query.cursor !== undefined) {
    const [lastCreatedAt, lastId] = parsePageCursor(query.cursor, list, positionSchema);
    listed = rows.where(sql<boolean>`(${createdAt}, ${idColumn}) < (${lastCreatedAt}, ${lastId})`);
  }
  const found = await listed
    .orderBy(createdAt, 'desc')
    .orderBy(idColumn, 'desc')
    .limit(limit + 1)
    .execute();
  const page = found.slice(0, limit);
  return {
    rows: page,
    nextCursor(shown = page.length) {
      const last = page[shown - 1];
      return found.length > shown && last !== undefined
        ? toPageCursor(list, [Number(last.created_at), last[id]])
        : null;
    },
  };
}
