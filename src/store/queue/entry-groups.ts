import { type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { DatabaseSchema } from '../database/tables/schema.ts';
import type { LeaseFilter } from './run-queue.ts';

/** Waiting entries with the same environment and key. A filter admits or refuses a whole group. */
export interface EntryGroup {
  readonly env_name: string;
  /** Empty for runs without a key. */
  readonly key_id: string;
}

/**
 * Admitted groups with waiting entries, starting with the group of the next entry. A group costs two index lookups,
 * however many entries it has, so refused entries do not slow down the others.
 */
export async function readGroups(database: Database, filter: LeaseFilter): Promise<readonly EntryGroup[]> {
  const { rows } = await sql<EntryGroup>`
    with recursive environments(env_name) as (
      select min(env_name) from queue where lease_until is null
      union all
      select (select min(queue.env_name) from queue
        where queue.lease_until is null and queue.env_name > environments.env_name)
      from environments where environments.env_name is not null
    ), groups(env_name, key_id) as (
      select env_name, (select min(queue.key_id) from queue
        where queue.lease_until is null and queue.env_name = environments.env_name)
      from environments where env_name is not null and ${isEnvironmentAdmitted(filter)}
      union all
      select env_name, (select min(queue.key_id) from queue
        where queue.lease_until is null and queue.env_name = groups.env_name and queue.key_id > groups.key_id)
      from groups where key_id is not null
    )
    select groups.env_name, groups.key_id from groups join queue on queue.trace_id = (
      select head.trace_id from queue as head
      where head.lease_until is null and head.env_name = groups.env_name and head.key_id = groups.key_id
      order by head.priority desc, head.enqueued_at, head.trace_id limit 1)
    where groups.key_id is not null and ${isNotAmong(sql`groups.key_id`, filter.exceptKeys)}
    order by queue.priority desc, queue.enqueued_at, queue.trace_id`.execute(database.kysely);
  return rows;
}

/** True when a filter may refuse entries. */
export function isSelective({ onlyEnvironments, ...except }: LeaseFilter): boolean {
  return onlyEnvironments !== undefined || Object.values(except).some((names) => names.length > 0);
}

/** A condition on the column `env_name`. */
export function isEnvironmentAdmitted({ onlyEnvironments, exceptEnvironments }: LeaseFilter) {
  const among = onlyEnvironments === undefined ? TRUE : isAmong(sql`env_name`, onlyEnvironments);
  return sql<SqlBool>`(${among} and ${isNotAmong(sql`env_name`, exceptEnvironments)})`;
}

/** A condition on the column `trace_id`. */
export function isTraceAdmitted({ onlyTraces, exceptTraces }: LeaseFilter) {
  const among = onlyTraces === undefined ? TRUE : isAmong(sql`trace_id`, onlyTraces);
  return sql<SqlBool>`${among} and ${isNotAmong(sql`trace_id`, exceptTraces)}`;
}

export function isOfGroup(queue: ExpressionBuilder<DatabaseSchema, 'queue'>, { env_name, key_id }: EntryGroup) {
  return queue.and([queue('lease_until', 'is', null), queue('env_name', '=', env_name), queue('key_id', '=', key_id)]);
}

const TRUE = sql<SqlBool>`1 = 1`;
const FALSE = sql<SqlBool>`1 = 0`;

function isAmong(column: ReturnType<typeof sql>, names: readonly string[]) {
  return names.length === 0 ? FALSE : sql<SqlBool>`${column} in (${sql.join(names)})`;
}

function isNotAmong(column: ReturnType<typeof sql>, names: readonly string[] = []) {
  return names.length === 0 ? TRUE : sql<SqlBool>`${column} not in (${sql.join(names)})`;
}
