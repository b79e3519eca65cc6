import type { Selectable } from 'kysely';
import { ApiError } from '../../contract/errors.ts';
import {
  type Checkpoint,
  type NewRegisteredModel,
  REGISTERED_NAME_PATTERN,
  type RegisteredModel,
  type RegisteredModelPatch,
  type ResolvedModel,
} from '../../contract/model.ts';
import type { EventOf } from '../../contract/service/event.ts';
import { IMITATION_PROVIDER } from '../../contract/service/training-states.ts';
import { preview } from '../../support/schema/json-schema.ts';
import { didYouMean } from '../../support/text/did-you-mean.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import type { ModelCheckpointsTable, RegisteredModelsTable } from '../database/tables/create-models.ts';

type Queries = Database['kysely'] | DatabaseTransaction;
type ModelRow = Selectable<RegisteredModelsTable>;

/** `check` throws an ApiError for a model that no gateway serves. */
interface ModelCheck {
  check(model: ResolvedModel): void;
}

/** Largest number of checkpoints that a message lists. */
const MAX_LISTED = 20;

/**
 * Registered models and their checkpoints (contract section 9, "Registry"). Each belongs to one account, and only that
 * account sees it. The class holds no resources, so it has no `close`.
 */
export class RegisteredModels {
  readonly #database: Database;
  readonly #now: () => number;

  /** @param options `now` is milliseconds since 1970. */
  constructor(database: Database, { now = Date.now }: { readonly now?: () => number } = {}) {
    this.#database = database;
    this.#now = now;
  }

  /** The models of an account, sorted by name. */
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

  /** @throws ApiError model_not_found for an unknown name. */
  async get(account: string, name: string): Promise<RegisteredModel> {
    const found = await readModel(this.#database.kysely, account, name);
    if (found !== undefined) return found;
    const names = (await this.list(account)).map((model) => model.name);
    throw notRegistered(name, names);
  }

  /**
   * @param trainingJob the job that made the model; null for a model that a client registered.
   * @throws ApiError name_taken; model_not_found for a head that is not a checkpoint.
   */
  async add(account: string, model: NewRegisteredModel, trainingJob: string | null = null): Promise<RegisteredModel> {
    return await this.#database.transaction((transaction) => this.addIn(transaction, account, model, trainingJob), {
      locking: ['registered_models'],
    });
  }

  /** The same inside of a given transaction. @throws as `add`. */
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

  /** True when an account has a model of this name. */
  async hasIn(transaction: DatabaseTransaction, account: string, name: string): Promise<boolean> {
    return (await readRow(transaction, account, name)) !== undefined;
  }

  /** @throws ApiError model_not_found for an unknown name, or a head that is not a checkpoint. */
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

  /** Removes a model. Traces and evaluations keep its name and its target. @throws ApiError model_not_found */
  async remove(account: string, name: string): Promise<void> {
    await this.get(account, name);
    await this.#database.transaction(async (transaction) => {
      for (const table of ['model_checkpoints', 'registered_models'] as const) {
        await transaction.deleteFrom(table).where('account', '=', account).where('name', '=', name).execute();
      }
    });
  }

  /**
   * The present meaning of a `model`. A registered name means its head, or its target without one; `name@step` means a
   * checkpoint; any other name means itself. Callers store the answer, so that a later change of the head does not
   * affect them.
   *
   * @param param the field of the request with the name.
   * @throws ApiError model_not_found for an unknown step of a registered model, or for a model of `proctor/imitation`
   * that was not made in this database.
   */
  async resolve(account: string, model: string, param = 'model'): Promise<ResolvedModel> {
    const resolved = await this.#resolve(account, model, param);
    if (resolved.target.startsWith(`${IMITATION_PROVIDER}:`)) await this.#checkImitation(resolved.target, param);
    return resolved;
  }

  /**
   * Resolves a model and makes sure that a gateway, or Proctor itself, serves it.
   *
   * @throws ApiError model_not_found, with `param`.
   */
  async check(models: ModelCheck, account: string, model: string, param = 'model'): Promise<ResolvedModel> {
    const resolved = await this.resolve(account, model, param);
    try {
      models.check(resolved);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      throw new ApiError(error.code, error.message, { param, headers: error.headers, cause: error });
    }
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

/** True when the name was resolved to something other than itself. */
export function isRegistered({ model, target, gateway }: ResolvedModel): boolean {
  return target !== model || gateway !== null;
}

/** The fields of `run.queued` for a model. */
export function toModelFields(
  resolved: ResolvedModel,
): Pick<EventOf<'run.queued'>, 'model' | 'model_target' | 'model_gateway'> {
  const { model, target, gateway } = resolved;
  return isRegistered(resolved) ? { model, model_target: target, model_gateway: gateway } : { model };
}

/** The target and gateway of a run, from the fields of its `run.queued`. */
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

/** Reads a model. Names with characters that only provider names have are not looked up. */
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

/** Reads the model back after a write. A head that is not a checkpoint throws, which rolls the write back. */
async function readBack(transaction: DatabaseTransaction, account: string, name: string): Promise<RegisteredModel> {
  const written = await readModel(transaction, account, name);
  if (written === undefined) throw notRegistered(name, []); // Another process removed it.
  const { head, checkpoints } = written;
  if (head !== null && checkpoints.every(({ step }) => step !== head)) throw noCheckpoint(written, head, 'head');
  return written;
}

/** Writes checkpoints. Of several with the same step the last one wins. */
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
      metrics: JSON.parse(metrics) as Checkpoint['metrics'], // This layer wrote the JSON.
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
