import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { type ShopRecords, toShopRecords } from './database.ts';
import { type Task, taskSchema } from './tasks.ts';
import { type DatabaseFile, databaseSchema } from './types.ts';

const MAX_ISSUES_SHOWN = 5;
const SPLITS_FILE = 'split_tasks.json';

/** Ids by split; lists under other names are ignored. */
const splitsSchema = z.object({
  train: z.array(z.string()).default([]),
  validation: z.array(z.string()).default([]),
  test: z.array(z.string()).default([]),
});
export type Split = keyof z.infer<typeof splitsSchema>;

/** The small shop that comes with this environment. */
export const ownDataDirectory = fileURLToPath(new URL('../data', import.meta.url));

/**
 * A directory with `policy.md`, `tasks.json` and `db.json`. Each file is read and checked when it is first asked for, once
 * in a process: what it gives is frozen or never changed, so that all sessions share it.
 */
export class DataDirectory {
  static readonly #opened = new Map<string, DataDirectory>();
  readonly #path: string;
  #policy: string | undefined;
  #tasks: ReadonlyMap<string, Task> | undefined;
  #splits: ReadonlyMap<string, Split> | undefined;
  #records: ShopRecords | undefined;

  private constructor(path: string) {
    this.#path = path;
  }

  static open(path: string): DataDirectory {
    const directory = DataDirectory.#opened.get(path) ?? new DataDirectory(path);
    DataDirectory.#opened.set(path, directory);
    return directory;
  }

  /** @throws Error naming the directory and the file, here and below, when a file is missing or not of its shape. */
  policy(): string {
    this.#policy ??= this.#read('policy.md', (text) => text);
    return this.#policy;
  }

  /** By id, in the order of the file. */
  tasks(): ReadonlyMap<string, Task> {
    this.#tasks ??= this.#read('tasks.json', (text) => {
      const tasks = z.array(taskSchema).min(1).parse(JSON.parse(text));
      return new Map(tasks.map((task) => [task.id, task]));
    });
    return this.#tasks;
  }

  /** The split of each task that `split_tasks.json` puts into one; none of them without that file. */
  splits(): ReadonlyMap<string, Split> {
    this.#splits ??= existsSync(join(this.#path, SPLITS_FILE))
      ? this.#read(SPLITS_FILE, (text) => toSplits(splitsSchema.parse(JSON.parse(text)), this.tasks()))
      : new Map();
    return this.#splits;
  }

  records(): ShopRecords {
    this.#records ??= this.#read('db.json', (text) => {
      const file = databaseSchema.parse(JSON.parse(text));
      refuseStrayKeys(file);
      return toShopRecords(file);
    });
    return this.#records;
  }

  #read<T>(name: string, parse: (text: string) => T): T {
    try {
      return parse(readFileSync(join(this.#path, name), 'utf8'));
    } catch (cause) {
      const reason =
        cause instanceof z.ZodError
          ? z.prettifyError(new z.ZodError(cause.issues.slice(0, MAX_ISSUES_SHOWN)))
          : String(cause);
      throw new Error(
        `The shop's ${name} in ${this.#path} cannot be used (RETAIL_DATA names the directory): ${reason}`,
        {
          cause,
        },
      );
    }
  }
}

/** A directory may hold the tasks of one split alone. */
function toSplits(
  lists: Readonly<Record<Split, readonly string[]>>,
  tasks: ReadonlyMap<string, Task>,
): ReadonlyMap<string, Split> {
  const splits = new Map<string, Split>();
  for (const [split, ids] of Object.entries(lists) as [Split, readonly string[]][]) {
    for (const id of ids.filter((id) => tasks.has(id))) {
      if (splits.has(id)) throw new Error(`the task '${id}' is in the splits ${splits.get(id)} and ${split}`);
      splits.set(id, split);
    }
  }
  return splits;
}

/** Records are looked up by key and saved by their own id, so that the two have to be the same. */
function refuseStrayKeys({ products, users, orders }: DatabaseFile): void {
  const ids = [
    ...Object.entries(products).map(([key, product]) => [key, product.product_id]),
    ...Object.values(products).flatMap(({ variants }) =>
      Object.entries(variants).map(([key, variant]) => [key, variant.item_id]),
    ),
    ...Object.entries(users).map(([key, user]) => [key, user.user_id]),
    ...Object.values(users).flatMap((user) => Object.entries(user.payment_methods).map(([key, { id }]) => [key, id])),
    ...Object.entries(orders).map(([key, order]) => [key, order.order_id]),
  ];
  for (const [key, id] of ids) if (key !== id) throw new Error(`the record under the key '${key}' has the id '${id}'`);
}
