import { CompiledQuery, type KyselyPlugin } from 'kysely';
import type { Database } from '../../../src/store/database/database.ts';

interface PostgresPlan {
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PostgresPlan[];
}

/** The same database, which remembers what it was asked. */
export function recording(database: Database): { readonly recorded: Database; readonly asked: CompiledQuery[] } {
  const asked: CompiledQuery[] = [];
  const executor = database.kysely.getExecutor();
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      asked.push(executor.compileQuery(node, queryId));
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  return { recorded: { ...database, kysely: database.kysely.withPlugin(plugin) }, asked };
}

/** Lines of SQLite's plan that read a table or an index from one end to the other. */
export async function scansOf(database: Database, query: CompiledQuery): Promise<readonly string[]> {
  return (await planOf(database, query)).filter((detail) => detail.startsWith('SCAN'));
}

/** Lines of SQLite's plan. */
export async function planOf(database: Database, query: CompiledQuery): Promise<readonly string[]> {
  const explained = CompiledQuery.raw(`explain query plan ${query.sql}`, [...query.parameters]);
  const { rows } = await database.kysely.executeQuery<{ detail: string }>(explained);
  return rows.map(({ detail }) => detail);
}

/** Rows that Postgres looks at when it executes the query, which it does. */
export async function rowsReadBy(database: Database, query: CompiledQuery): Promise<number> {
  const explained = CompiledQuery.raw(`explain (analyze, format json) ${query.sql}`, [...query.parameters]);
  const { rows } = await database.kysely.executeQuery<{ 'QUERY PLAN': readonly { readonly Plan: PostgresPlan }[] }>(
    explained,
  );
  return rows
    .flatMap((row) => row['QUERY PLAN'].map(({ Plan }) => rowsOf(Plan)))
    .reduce((sum, count) => sum + count, 0);
}

function rowsOf(plan: PostgresPlan): number {
  const each =
    (plan['Actual Rows'] ?? 0) + (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0);
  return (plan.Plans ?? []).reduce((sum, part) => sum + rowsOf(part), each * (plan['Actual Loops'] ?? 1));
}
