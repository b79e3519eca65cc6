import type { Generated, Kysely } from 'kysely';

/** Creates the tables of registered models and their checkpoints. */
export async function createModelTables({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('registered_models')
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('gateway', 'text')
    .addColumn('target', 'text', (column) => column.notNull())
    .addColumn('base', 'text')
    .addColumn('head', 'bigint')
    .addColumn('training_job', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('registered_models_key', ['account', 'name'])
    .execute();
  await schema
    .createTable('model_checkpoints')
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('step', 'bigint', (column) => column.notNull())
    .addColumn('target', 'text', (column) => column.notNull())
    .addColumn('metrics', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('model_checkpoints_key', ['account', 'name', 'step'])
    .addForeignKeyConstraint(
      'model_checkpoints_model',
      ['account', 'name'],
      'registered_models',
      ['account', 'name'],
      (key) => key.onDelete('cascade'),
    )
    .execute();
}

export interface RegisteredModelsTable {
  account: string;
  /** Unique within an account. */
  name: string;
  /** A key of `gateways` in the configuration. Null selects a gateway by pattern of the target. */
  gateway: string | null;
  /** The provider's name. */
  target: string;
  base: string | null;
  /** The training step of the checkpoint that the bare name means. Null means `target`. */
  head: number | null;
  training_job: Generated<string | null>;
  created_at: number;
}

export interface ModelCheckpointsTable {
  account: string;
  /** Name of the registered model. */
  name: string;
  step: number;
  target: string;
  /** JSON object whose values are numbers. */
  metrics: string;
}
