import {
  AndNode,
  BinaryOperationNode,
  ColumnNode,
  CompiledQuery,
  InsertQueryNode,
  type Kysely,
  OperatorNode,
  type QueryNode,
  ReferenceNode,
  sql,
  TableNode,
  UpdateQueryNode,
  ValueNode,
} from 'kysely';
import type { RowsWrite } from '../database.ts';
import type { DatabaseSchema } from '../tables/schema.ts';

/**
 * Starts a statement that Postgres plans anew for each execution. An update joins its rows with arrays, and a cached
 * plan from a time when the table was small would scan the whole table.
 */
export const PLANNED_EACH_TIME = '/* planned each time */';

/** Type names of columns, by table and column. */
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
 * Combines all rows of all writes into one statement, with one array for each column. Its text is the same for any
 * number of rows, and a commit takes one round trip. Undefined unless every write is an insert of one row of plain
 * values, or an update that sets plain values where columns equal plain values.
 */
export function toOneStatement(writes: readonly RowsWrite[], types: ColumnTypes): CompiledQuery | undefined {
  const parameters: unknown[][] = [];
  const parts: string[] = [];
  for (const { statement, rows } of writes) {
    const shape = shapeOf(statement.query as QueryNode);
    const typeNames = shape?.columns.map((column) => types.get(shape.table)?.get(column));
    if (shape === undefined || typeNames === undefined || typeNames.includes(undefined)) return undefined;
    if (rows.some((row) => row.length !== typeNames.length)) return undefined;
    const arrays = typeNames.map((type, index) => `$${parameters.length + index + 1}::${quote(type ?? '')}[]`);
    parameters.push(...typeNames.map((_, index) => rows.map((row) => row[index])));
    const isAfterOthers = parts.length === 0 ? 'true' : `(select count(*) from w${parts.length}) >= 0`;
    parts.push(toStatement(shape, arrays, isAfterOthers));
  }
  const begin = writes.some(({ statement }) => UpdateQueryNode.is(statement.query)) ? `${PLANNED_EACH_TIME} ` : '';
  const [only] = parts;
  if (only === undefined || parts.length === 1)
    return only === undefined ? undefined : CompiledQuery.raw(`${begin}${only}`, parameters);
  const all = parts.map((part, index) => `w${index + 1} as (${part} returning 1)`);
  return CompiledQuery.raw(`${begin}with ${all.join(', ')} select count(*) from w${parts.length}`, parameters);
}

interface Shape {
  readonly table: string;
  /** Columns in the order of the parameters. */
  readonly columns: readonly string[];
  /** The number of leading columns that an update sets. The columns after them select the rows. */
  readonly set?: number;
}

function toStatement({ table, columns, set }: Shape, arrays: readonly string[], condition: string): string {
  if (set === undefined) {
    return `insert into ${quote(table)} (${columns.map(quote).join(', ')}) select * from unnest(${arrays.join(', ')}) where ${condition}`;
  }
  const names = columns.map((_, index) => `c${index + 1}`);
  const setters = columns.slice(0, set).map((column, index) => `${quote(column)} = given.c${index + 1}`);
  const meant = columns.slice(set).map((column, index) => `written.${quote(column)} = given.c${set + index + 1}`);
  return `update ${quote(table)} as written set ${setters.join(', ')} from unnest(${arrays.join(', ')}) as given(${names.join(', ')}) where ${[...meant, condition].join(' and ')}`;
}

function shapeOf(node: QueryNode): Shape | undefined {
  if (InsertQueryNode.is(node)) {
    if (node.into === undefined || node.columns === undefined) return undefined;
    if (node.onConflict !== undefined || node.returning !== undefined) return undefined;
    return { table: node.into.table.identifier.name, columns: node.columns.map(({ column }) => column.name) };
  }
  if (!UpdateQueryNode.is(node) || node.returning !== undefined || node.from !== undefined) return undefined;
  const { table, updates = [], where } = node;
  if (table === undefined || !TableNode.is(table) || where === undefined) return undefined;
  const set = updates.map(({ column, value }) => (ValueNode.is(value) ? nameOf(column) : undefined));
  const columns = [...set, ...equalColumns(where.where)];
  const named = columns.filter((column) => column !== undefined);
  return named.length < columns.length
    ? undefined
    : { table: table.table.identifier.name, columns: named, set: set.length };
}

/** The columns of `a = 1 and b = 2`; contains undefined for any other condition. */
function equalColumns(condition: object): readonly (string | undefined)[] {
  const node = condition as AndNode;
  if (AndNode.is(node)) return [...equalColumns(node.left), ...equalColumns(node.right)];
  const comparison = condition as BinaryOperationNode;
  if (!BinaryOperationNode.is(comparison) || !ValueNode.is(comparison.rightOperand)) return [undefined];
  const { leftOperand, operator } = comparison;
  const isEqual = OperatorNode.is(operator) && operator.operator === '=';
  return [isEqual ? nameOf(leftOperand) : undefined];
}

function nameOf(node: object): string | undefined {
  const column = ReferenceNode.is(node as ReferenceNode) ? (node as ReferenceNode).column : (node as ColumnNode);
  return ColumnNode.is(column) ? column.column.name : undefined;
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
