import { type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { DatabaseSchema } from '../database/schema.ts';
import type { LeaseFilter } from './run-queue.ts';

/** The entries that wait of one environment and one key: a filter lets all of them through, or none. */
export interface Lane {
  readonly env_name: string;
  /** Empty for runs without a key. */
  readonly key_id: string;
}

/**
 * The lanes that the filter lets through and where somebody waits, that of the next entry first. Each lane costs two looks
 * at an index, however many entries it holds: those that have to wait are not looked at.
 */
export async function readLanes(database: Database, filter: LeaseFilter): Promise<readonly Lane[]> {
  const { rows } = await sql<Lane>`
    with recursive environments(env_name) as (
      select min(env_name) from queue where lease_until is null
      union all
      select (select min(queue.env_name) from queue
        where queue.lease_until is null and queue.env_name > environments.env_name)
      from environments where environments.env_name is not null
    ), lanes(env_name, key_id) as (
      select env_name, (select min(queue.key_id) from queue
        where queue.lease_until is null and queue.env_name = environments.env_name)
      from environments where env_name is not null and ${isEnvironmentLetThrough(filter)}
      union all
      select env_name, (select min(queue.key_id) from queue
        where queue.lease_until is null and queue.env_name = lanes.env_name and queue.key_id > lanes.key_id)
      from lanes where key_id is not null
    )
    select lanes.env_name, lanes.key_id from lanes join queue on queue.trace_id = (
      select head.trace_id from queue as head
      where head.lease_until is null and head.env_name = lanes.env_name and head.key_id = lanes.key_id
      order by head.priority desc, head.enqueued_at, head.trace_id limit 1)
    where lanes.key_id is not null and ${isNotAmong(sql`lanes.key_id`, filter.exceptKeys)}
    order by queue.priority desc, queue.enqueued_at, queue.trace_id`.execute(database.kysely);
  return rows;
}

/** Whether a filter may hold anything back. */
export function isSelective({ onlyEnvironments, exceptEnvironments = [], exceptKeys = [] }: LeaseFilter): boolean {
  return onlyEnvironments !== undefined || exceptEnvironments.length + exceptKeys.length > 0;
}

/** Of the column `env_name` of whatever is selected from. */
export function isEnvironmentLetThrough({ onlyEnvironments, exceptEnvironments }: LeaseFilter) {
  const among = onlyEnvironments === undefined ? TRUE : isAmong(sql`env_name`, onlyEnvironments);
  return sql<SqlBool>`(${among} and ${isNotAmong(sql`env_name`, exceptEnvironments)})`;
}

export function isOfLane(queue: ExpressionBuilder<DatabaseSchema, 'queue'>, { env_name, key_id }: Lane) {
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
