import { type Kysely, type Migration, Migrator } from 'kysely';
import { messageOf } from '../contract/errors.ts';
import { createChecks } from './create-checks.ts';
import { createEvaluations } from './create-evaluations.ts';
import { createHarnessCosts } from './create-harness-costs.ts';
import { createModelTables } from './create-models.ts';
import { createFreshRegrades, createReplays } from './create-replays.ts';
import { createSchema } from './create-schema.ts';
import { createSeats } from './create-seats.ts';
import { createTrainingJobs } from './create-training-jobs.ts';

/**
 * Brings the schema up to date, forward only. Several processes may do so at once: each step runs under the
 * database's write lock, and whoever comes second finds it done.
 *
 * @throws Error when the database holds a step that is not known here: a newer Proctor wrote it.
 */
export async function migrateToLatest<Schema>(kysely: Kysely<Schema>): Promise<void> {
  const migrator = new Migrator({ db: kysely, provider: { getMigrations: async () => MIGRATIONS } });
  const { error } = await migrator.migrateToLatest();
  if (error === undefined) return;
  const unknown = /previously executed migration (\S+) is missing/.exec(messageOf(error))?.[1];
  if (unknown === undefined) throw error;
  throw new Error(`it was written by a newer Proctor (schema ${unknown}): update Proctor, or use another database`, {
    cause: error,
  });
}

/** Whether this version has a step of the schema. */
export function isKnownStep(name: string): boolean {
  return Object.hasOwn(MIGRATIONS, name);
}

/** Names sort in the order of time. A step that was released is never changed: the next one changes the schema that it made. */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001_schema': { up: createSchema },
  '0002_evaluations': { up: createEvaluations },
  '0003_seats': { up: createSeats },
  '0005_models': { up: createModelTables },
  '0006_training_jobs': { up: createTrainingJobs },
  '0007_replay': { up: createReplays },
  '0010_harness_costs': { up: createHarnessCosts },
  '0011_checks': { up: createChecks },
  '0012_fresh_regrades': { up: createFreshRegrades },
};
