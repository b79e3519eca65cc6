import { loopSlices } from '../runtime/loop-slices.ts';
import { ConnectionLostError } from './store-errors.ts';

/** Requests of one transaction at most: what comes after waits for the next, and other processes get their turn. */
const MAX_GROUP = 1_000;

/**
 * Commits together what was asked for in one turn of the event loop. There is no timer: a request that comes alone is
 * committed at the end of its turn, and those that arrive while a commit blocks are the next group.
 */
export class GroupCommit<Request, Result> {
  readonly #commit: (requests: readonly Request[]) => Promise<readonly (Result | Error)[]>;
  readonly #maxGroup: number;
  #waiting: Waiting<Request, Result>[] = [];
  #isRunning = false;

  /**
   * @param commit runs one transaction; it gives one result for each request, an Error for one that was refused by
   *   itself. When it throws, nothing of the group was written, and each request is tried once more, by itself, unless
   *   the database is away.
   */
  constructor(
    commit: (requests: readonly Request[]) => Promise<readonly (Result | Error)[]>,
    { maxGroup = MAX_GROUP }: { readonly maxGroup?: number } = {},
  ) {
    this.#commit = commit;
    this.#maxGroup = maxGroup;
  }

  /** Resolves once the request is committed; requests are committed in the order in which they were submitted. */
  submit(request: Request): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      if (this.#isRunning) return;
      this.#isRunning = true;
      this.#schedule();
    });
  }

  #schedule(): void {
    setImmediate(() => void this.#run());
  }

  async #run(): Promise<void> {
    const group = this.#waiting.splice(0, this.#maxGroup);
    const failure = await this.#settle(group);
    if (failure?.error instanceof ConnectionLostError) {
      for (const each of group) each.reject(failure.error); // It was waited for as long as for any of them.
    } else if (failure !== undefined) {
      for (const single of group) {
        const own = await this.#settle([single]);
        if (own !== undefined) single.reject(own.error);
      }
    }
    if (this.#waiting.length > 0) this.#schedule();
    else this.#isRunning = false;
  }

  /** @returns why nothing of the group was written; undefined when each of it is settled. */
  async #settle(group: readonly Waiting<Request, Result>[]): Promise<{ readonly error: unknown } | undefined> {
    let results: readonly (Result | Error)[];
    try {
      results = await this.#commit(group.map(({ request }) => request));
    } catch (error) {
      return { error };
    }
    for (const [index, { resolve, reject }] of group.entries()) {
      const result = results[index];
      // Hundreds of sessions may go on from here.
      loopSlices.run(() => (result === undefined || result instanceof Error ? reject(result) : resolve(result)));
    }
    return undefined;
  }
}

interface Waiting<Request, Result> {
  readonly request: Request;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}
