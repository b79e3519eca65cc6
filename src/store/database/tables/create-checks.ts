import type { Kysely } from 'kysely';

/** Creates the tables of `proctor check` reports, with their environments and findings. */
export async function createChecks({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('checks')
    .addColumn('check_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('counts', 'text', (column) => column.notNull())
    .execute();
  await schema.createIndex('checks_account').on('checks').columns(['account', 'created_at', 'check_id']).execute();
  // This index serves the deletion of old reports, of all accounts, by age.
  await schema.createIndex('checks_created').on('checks').columns(['created_at', 'check_id']).execute();
  await schema
    .createTable('check_environments')
    .addColumn('check_id', 'text', (column) => column.notNull().references('checks.check_id').onDelete('cascade'))
    .addColumn('environment_index', 'integer', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('may_share_process', 'integer')
    .addColumn('scenarios', 'text', (column) => column.notNull())
    .addColumn('counts', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('check_environments_key', ['check_id', 'environment_index'])
    .execute();
  await schema.createIndex('check_environments_name').on('check_environments').columns(['name', 'check_id']).execute();
  await schema
    .createTable('check_findings')
    .addColumn('check_id', 'text', (column) => column.notNull().references('checks.check_id').onDelete('cascade'))
    .addColumn('finding_index', 'integer', (column) => column.notNull())
    .addColumn('environment_index', 'integer', (column) => column.notNull())
    .addColumn('finding', 'text', (column) => column.notNull())
    .addColumn('level', 'text', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('trace_id', 'text')
    .addPrimaryKeyConstraint('check_findings_key', ['check_id', 'finding_index'])
    .execute();
}

/** Adds a column for the states of findings. It is null in older reports. */
export async function createCheckTried({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('check_environments').addColumn('tried', 'text').execute();
}

export interface CheckTables {
  checks: ChecksTable;
  check_environments: CheckEnvironmentsTable;
  check_findings: CheckFindingsTable;
}

export interface ChecksTable {
  check_id: string;
  account: string;
  created_at: number;
  /** JSON: number of findings by level. */
  counts: string;
}

/** The environments of a report, in order. */
export interface CheckEnvironmentsTable {
  check_id: string;
  /** Counted from 0. */
  environment_index: number;
  name: string;
  /** 1, 0, or null when it could not be tried. */
  may_share_process: number | null;
  /** JSON array of scenarios. */
  scenarios: string;
  /** JSON array of the state of each finding; null in older reports. */
  tried: string | null;
  /** JSON: number of findings by level. */
  counts: string;
}

/** The findings of a report: first the errors of all environments, then warnings, then notes. */
export interface CheckFindingsTable {
  check_id: string;
  /** Counted from 0. */
  finding_index: number;
  environment_index: number;
  finding: string;
  level: string;
  /** JSON of the other fields of the finding. */
  body: string;
  /** This is not a foreign key: reports skip traces that were deleted. */
  trace_id: string | null;
}
