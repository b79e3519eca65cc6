import type { Selectable } from 'kysely';
import { ApiError } from '../contract/errors.ts';
import type { EventOf } from '../contract/event.ts';
import {
  type Checkpoint,
  type NewRegisteredModel,
  REGISTERED_NAME_PATTERN,
  type RegisteredModel,
  type RegisteredModelPatch,
  type ResolvedModel,
} from '../contract/model.ts';
import { IMITATION_PROVIDER } from '../contract/training-states.ts';
import type { ModelCheckpointsTable, RegisteredModelsTable } from '../database/create-models.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import { preview } from '../schema/json-schema.ts';
import { didYouMean } from '../text/did-you-mean.ts';

type Queries = Database['kysely'] | DatabaseTransaction;
type ModelRow = Selectable<RegisteredModelsTable>;

/** Checkpoints that a message lists. */
const MAX_LISTED = 20;

/**
 * Names for models, with their checkpoints (contract section 9, "Registry"). Each belongs to an account, which alone sees
 * it. Nothing is held: there is nothing to close.
 */
export class RegisteredModels {
  readonly #database: Database;
  readonly #now: () => number;

  /** @param options `now` is milliseconds since 1970. */
  constructor(database: Database, { now = Date.now }: { readonly now?: () => number } = {}) {
    this.#database = database;
    this.#now = now;
  }

  /** In order of name. */
  async list(account: string): Promise<readonly RegisteredModel[]> {
    const { kysely } = this.#database;
    const rows = await kysely
      .selectFrom('registered_models')
      .selectAll()
      .where('account', '=', account)
      .orderBy('name')
      .execute();
    const checkpoints = await kysely
      .selectFrom('model_checkpoints')
      .selectAll()
      .where('account', '=', account)
      .orderBy('step')
      .execute();
    return rows.map((row) =>
      toModel(
        row,
        checkpoints.filter(({ name }) => name === row.name),
      ),
    );
  }

  /** @throws ApiError model_not_found */
  async get(account: string, name: string): Promise<RegisteredModel> {
    const found = await readModel(this.#database.kysely, account, name);
    if (found !== undefined) return found;
    const names = (await this.list(account)).map((model) => model.name);
    throw notRegistered(name, names);
  }

  /**
   * @param trainingJob the job that made it; null: somebody.
   * @throws ApiError name_taken; model_not_found for a head that is no checkpoint.
   */
  async add(account: string, model: NewRegisteredModel, trainingJob: string | null = null): Promise<RegisteredModel> {
    return await this.#database.transaction((transaction) => this.addIn(transaction, account, model, trainingJob), {
      locking: ['registered_models'],
    });
  }

  /** The same as part of a transaction of others. @throws as `add` */
  async addIn(
    transaction: DatabaseTransaction,
    account: string,
    model: NewRegisteredModel,
    trainingJob: string | null,
  ): Promise<RegisteredModel> {
    if (await this.hasIn(transaction, account, model.name)) throw nameTaken(model.name);
    const { name, gateway, target, base, head, checkpoints } = model;
    const row = { account, name, gateway, target, base, head, training_job: trainingJob, created_at: this.#now() };
    await transaction.insertInto('registered_models').values(row).execute();
    await putCheckpoints(transaction, account, name, checkpoints);
    return await readBack(transaction, account, name);
  }

  /** Whether an account has a model of this name. */
  async hasIn(transaction: DatabaseTransaction, account: string, name: string): Promise<boolean> {
    return (await readRow(transaction, account, name)) !== undefined;
  }

  /** @throws ApiError model_not_found, for a head that is no checkpoint too. */
  async change(
    account: string,
    name: string,
    { checkpoints = [], ...patch }: RegisteredModelPatch,
  ): Promise<RegisteredModel> {
    const known = await this.get(account, name);
    return await this.#database.transaction(
      async (transaction) => {
        await putCheckpoints(transaction, account, name, checkpoints);
        const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
        if (Object.keys(given).length > 0) {
          await transaction
            .updateTable('registered_models')
            .set(given)
            .where('account', '=', account)
            .where('name', '=', known.name)
            .execute();
        }
        return await readBack(transaction, account, name);
      },
      { locking: ['registered_models'] },
    );
  }

  /** Traces and evaluations keep its name, and whom it meant. @throws ApiError model_not_found */
  async remove(account: string, name: string): Promise<void> {
    await this.get(account, name);
    await this.#database.transaction(async (transaction) => {
      for (const table of ['model_checkpoints', 'registered_models'] as const) {
        await transaction.deleteFrom(table).where('account', '=', account).where('name', '=', name).execute();
      }
    });
  }

  /**
   * The meaning of a `model` now: a registered name its head, or its target where it has none; `name@step` a checkpoint; any
   * other name itself. Whoever makes something of it keeps the answer, so that a head that moves changes nothing of that.
   *
   * @param param the field of the request that names it.
   * @throws ApiError model_not_found for a step that a registered model does not have, and for a model of
   *   `proctor/imitation` that was not made in this database.
   */
  async resolve(account: string, model: string, param = 'model'): Promise<ResolvedModel> {
    const resolved = await this.#resolve(account, model, param);
    if (resolved.target.startsWith(`${IMITATION_PROVIDER}:`)) await this.#checkImitation(resolved.target, param);
    return resolved;
  }

  async #checkImitation(target: string, param: string): Promise<void> {
    const { kysely } = this.#database;
    const row = await kysely
      .selectFrom('imitation_models')
      .select('name')
      .where('name', '=', target)
      .executeTakeFirst();
    if (row !== undefined) return;
    const message = `There is no model ${preview(target)}: ${IMITATION_PROVIDER} has not made it in this database. "proctor models list" says which there are.`;
    throw new ApiError('model_not_found', message, { param });
  }

  async #resolve(account: string, model: string, param: string): Promise<ResolvedModel> {
    const at = model.lastIndexOf('@');
    const whole = await readModel(this.#database.kysely, account, model);
    if (whole !== undefined) return toResolved(model, whole, whole.head, param);
    const named = at === -1 ? undefined : await readModel(this.#database.kysely, account, model.slice(0, at));
    if (named === undefined) return { model, target: model, gateway: null };
    const step = model.slice(at + 1);
    return toResolved(model, named, /^\d{1,15}$/.test(step) ? Number(step) : step, param);
  }
}

/** Whether a name meant another one than itself. */
export function isRegistered({ model, target, gateway }: ResolvedModel): boolean {
  return target !== model || gateway !== null;
}

/** How `run.queued` says so. */
export function toModelFields(
  resolved: ResolvedModel,
): Pick<EventOf<'run.queued'>, 'model' | 'model_target' | 'model_gateway'> {
  const { model, target, gateway } = resolved;
  return isRegistered(resolved) ? { model, model_target: target, model_gateway: gateway } : { model };
}

/** The model that is asked in a run that was queued so. */
export function toAskedModel(queued: ReturnType<typeof toModelFields>): Pick<ResolvedModel, 'target' | 'gateway'> {
  return { target: queued.model_target ?? queued.model, gateway: queued.model_gateway ?? null };
}

function toResolved(model: string, found: RegisteredModel, step: number | string | null, param: string): ResolvedModel {
  const { gateway, target } = found;
  if (step === null) return { model, target, gateway };
  const checkpoint = found.checkpoints.find((each) => each.step === step);
  if (checkpoint === undefined) throw noCheckpoint(found, step, param);
  return { model, target: checkpoint.target, gateway };
}

async function readRow(queries: Queries, account: string, name: string): Promise<ModelRow | undefined> {
  return await queries
    .selectFrom('registered_models')
    .selectAll()
    .where('account', '=', account)
    .where('name', '=', name)
    .executeTakeFirst();
}

/** Names of providers are not even looked for: most have other characters. */
async function readModel(queries: Queries, account: string, name: string): Promise<RegisteredModel | undefined> {
  if (!REGISTERED_NAME_PATTERN.test(name)) return undefined;
  const row = await readRow(queries, account, name);
  if (row === undefined) return undefined;
  const checkpoints = await queries
    .selectFrom('model_checkpoints')
    .selectAll()
    .where('account', '=', account)
    .where('name', '=', name)
    .orderBy('step')
    .execute();
  return toModel(row, checkpoints);
}

/** As it was written; a head that is no checkpoint undoes that. */
async function readBack(transaction: DatabaseTransaction, account: string, name: string): Promise<RegisteredModel> {
  const written = await readModel(transaction, account, name);
  if (written === undefined) throw notRegistered(name, []); // Removed meanwhile.
  const { head, checkpoints } = written;
  if (head !== null && checkpoints.every(({ step }) => step !== head)) throw noCheckpoint(written, head, 'head');
  return written;
}

/** The last of those with one step counts. */
async function putCheckpoints(
  transaction: DatabaseTransaction,
  account: string,
  name: string,
  checkpoints: NonNullable<RegisteredModelPatch['checkpoints']>,
): Promise<void> {
  for (const { step, target, metrics = {} } of checkpoints) {
    const value = { target, metrics: JSON.stringify(metrics) };
    await transaction
      .insertInto('model_checkpoints')
      .values({ account, name, step, ...value })
      .onConflict((conflict) => conflict.columns(['account', 'name', 'step']).doUpdateSet(value))
      .execute();
  }
}

function toModel(row: ModelRow, checkpoints: readonly Selectable<ModelCheckpointsTable>[]): RegisteredModel {
  return {
    object: 'registered_model',
    name: row.name,
    gateway: row.gateway,
    target: row.target,
    base: row.base,
    head: row.head === null ? null : Number(row.head),
    checkpoints: checkpoints.map(({ step, target, metrics }) => ({
      step: Number(step),
      target,
      metrics: JSON.parse(metrics) as Checkpoint['metrics'], // As this layer wrote it.
    })),
    training_job: row.training_job,
    created_at: new Date(Number(row.created_at)).toISOString(),
  };
}

function notRegistered(name: string, known: readonly string[]): ApiError {
  const hint = known.length === 0 ? 'none is registered' : `there are ${known.slice(0, MAX_LISTED).join(', ')}`;
  const message = `No model ${JSON.stringify(name.slice(0, 100))} is registered: ${hint}.${didYouMean(name, known)}`;
  return new ApiError('model_not_found', message);
}

function noCheckpoint({ name, checkpoints }: RegisteredModel, step: number | string, param: string): ApiError {
  const steps = checkpoints.slice(0, MAX_LISTED).map((each) => each.step);
  const more = checkpoints.length > steps.length ? ', ...' : '';
  const known = steps.length === 0 ? 'it has none' : `it has ${steps.join(', ')}${more}`;
  const message = `The registered model ${name} has no checkpoint of step ${JSON.stringify(step)}: ${known}.`;
  return new ApiError('model_not_found', message, { param });
}

function nameTaken(name: string): ApiError {
  const message = `A model is registered as ${JSON.stringify(name)} already: choose another name, change it with PATCH, or remove it first.`;
  return new ApiError('name_taken', message, { param: 'name' });
}
