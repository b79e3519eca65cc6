import { CompiledQuery, InsertQueryNode, type Kysely, sql } from 'kysely';
import type { DatabaseSchema } from './schema.ts';

/** Type names by table and column. */
export type ColumnTypes = ReadonlyMap<string, ReadonlyMap<string, string>>;

export async function readColumnTypes(kysely: Kysely<DatabaseSchema>): Promise<ColumnTypes> {
  const { rows } = await sql<{ table_name: string; column_name: string; udt_name: string }>`
    select table_name, column_name, udt_name from information_schema.columns where table_schema = current_schema()
  `.execute(kysely);
  const types = new Map<string, Map<string, string>>();
  for (const { table_name, column_name, udt_name } of rows) {
    const columns = types.get(table_name) ?? new Map<string, string>();
    types.set(table_name, columns.set(column_name, udt_name));
  }
  return types;
}

/**
 * One statement for all rows, with an array for each column, so that its text is the same for any number of them.
 * Undefined where `write` is not an insert of one row of plain values.
 */
export function toRowsInsert(
  write: CompiledQuery,
  rows: readonly (readonly unknown[])[],
  types: ColumnTypes,
): CompiledQuery | undefined {
  const node = write.query;
  if (!InsertQueryNode.is(node) || node.into === undefined || node.columns === undefined) return undefined;
  if (node.onConflict !== undefined || node.returning !== undefined) return undefined;
  const table = node.into.table.identifier.name;
  const columns = node.columns.map(({ column }) => column.name);
  const known = columns.map((column) => types.get(table)?.get(column));
  if (known.includes(undefined) || rows.some((row) => row.length !== columns.length)) return undefined;
  const arrays = known.map((type, index) => `$${index + 1}::${quote(type ?? '')}[]`);
  const text = `insert into ${quote(table)} (${columns.map(quote).join(', ')}) select * from unnest(${arrays.join(', ')})`;
  return CompiledQuery.raw(
    text,
    columns.map((_, index) => rows.map((row) => row[index])),
  );
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
