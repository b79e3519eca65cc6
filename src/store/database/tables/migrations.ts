import { type Kysely, type Migration, Migrator } from 'kysely';
import { messageOf } from '../../../contract/errors.ts';

/**
 * Brings the schema up to date, forward only. Several processes may call it at once: each step runs under the
 * database's write lock, and the later process finds it done.
 *
 * @throws Error when the database has a step that this version does not know, because a newer Proctor wrote it.
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

/** True when this version knows the step of the schema. */
export function isKnownStep(name: string): boolean {
  return Object.hasOwn(MIGRATIONS, name);
}

/**
 * Names sort by time. A released step is never changed: a later step changes the schema instead. The code of a step is
 * loaded when the step runs, because most processes find the schema up to date.
 */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001_schema': { up: async (db) => (await import('./create-schema.ts')).createSchema(db) },
  '0002_evaluations': { up: async (db) => (await import('./create-evaluations.ts')).createEvaluations(db) },
  '0003_seats': { up: async (db) => (await import('./create-seats.ts')).createSeats(db) },
  '0005_models': { up: async (db) => (await import('./create-models.ts')).createModelTables(db) },
  '0006_training_jobs': { up: async (db) => (await import('./create-training-jobs.ts')).createTrainingJobs(db) },
  '0007_replay': { up: async (db) => (await import('./create-replays.ts')).createReplays(db) },
  '0010_harness_costs': { up: async (db) => (await import('./create-harness-costs.ts')).createHarnessCosts(db) },
  '0011_checks': { up: async (db) => (await import('./create-checks.ts')).createChecks(db) },
  '0012_fresh_regrades': { up: async (db) => (await import('./create-replays.ts')).createFreshRegrades(db) },
  '0013_check_tried': { up: async (db) => (await import('./create-checks.ts')).createCheckTried(db) },
};
